/** Unions in schemas, and the property that distinguishes their branches. */

import { branchesOf, fits, literals, type JsonSchema } from '../json-schema.ts'

/** A union, and the tag that distinguishes its object branches, such as `role` or `type`. */
export interface Union {
  readonly branches: readonly JsonSchema[]
  readonly tag: Tag | undefined
}

export interface Tag {
  /** The property with fixed values. */
  readonly name: string
  /** The branches for each value. */
  readonly meant: ReadonlyMap<unknown, readonly JsonSchema[]>
  /** Branches that know the tag but do not require it; used when it is missing. */
  readonly optional: readonly JsonSchema[]
  /** Object branches that do not know the tag; used only if they match. */
  readonly untagged: readonly JsonSchema[]
}

const unions = new WeakMap<readonly JsonSchema[], Union>()

/** Describes a union, once per schema: each message of a conversation needs it. */
export function unionOf (anyOf: readonly JsonSchema[]): Union {
  let union = unions.get(anyOf)
  if (union === undefined) {
    const branches = anyOf.flatMap(branchesOf)
    union = { branches, tag: tagOf(branches.filter(branch => fits(branch, {}))) }
    unions.set(anyOf, union)
  }
  return union
}

/** Finds the tag: the property with fixed values in most branches, and in at least two. */
function tagOf (branches: readonly JsonSchema[]): Tag | undefined {
  const uses = new Map<string, number>()
  for (const { properties = {} } of branches) {
    for (const [name, property] of Object.entries(properties)) {
      if (literals(property) !== undefined) uses.set(name, (uses.get(name) ?? 0) + 1)
    }
  }
  const [name, most] = [...uses].reduce((best, use) => use[1] > best[1] ? use : best, ['', 1])
  if (most < 2) return undefined

  const meant = new Map<unknown, JsonSchema[]>()
  const optional: JsonSchema[] = []
  const untagged: JsonSchema[] = []
  for (const branch of branches) {
    const values = literals(branch.properties?.[name])
    for (const value of values ?? []) meant.set(value, [...meant.get(value) ?? [], branch])
    if (values === undefined) untagged.push(branch)
    else if (branch.required?.includes(name) !== true) optional.push(branch)
  }
  return { name, meant, optional, untagged }
}
