import { branchesOf, literals, type JsonSchema } from './json-schema.ts'

/** A union, with the property that tells its object branches apart, such as `role` or `type`. */
export interface Union {
  readonly branches: readonly JsonSchema[]
  readonly tag: string | undefined
}

const unions = new WeakMap<readonly JsonSchema[], Union>()

/** What is known of a union. Worked out once per schema: a conversation asks at every message. */
export function unionOf (anyOf: readonly JsonSchema[]): Union {
  let union = unions.get(anyOf)
  if (union === undefined) {
    const branches = anyOf.flatMap(branchesOf)
    union = { branches, tag: tagOf(branches) }
    unions.set(anyOf, union)
  }
  return union
}

/** The property that has fixed values in most branches, and in two at least. */
function tagOf (branches: readonly JsonSchema[]): string | undefined {
  const uses = new Map<string, number>()
  for (const { properties = {} } of branches) {
    for (const [name, property] of Object.entries(properties)) {
      if (literals(property) !== undefined) uses.set(name, (uses.get(name) ?? 0) + 1)
    }
  }
  const [tag, most] = [...uses].reduce((best, use) => use[1] > best[1] ? use : best, ['', 1])
  return most > 1 ? tag : undefined
}
