/** Finds the strings of a schema, and which of them a table of text places forgets. */

import { unlisted, type PlaceTable } from '../../lib/json/place-table.ts'
import type { TSchema } from 'typebox'

const mark = 'a string of the schema'

export interface Leaf {
  readonly path: string
  /** A value with `mark` in that place. */
  readonly value: unknown
}

interface AnySchema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly AnySchema[]
  readonly items?: AnySchema
  readonly properties?: Readonly<Record<string, AnySchema>>
  readonly additionalProperties?: AnySchema | boolean
  readonly contentMediaType?: string
  readonly not?: unknown
}

/** Returns the paths of strings that no rule of the table covers. */
export function forgottenTexts (schema: TSchema, places: PlaceTable): string[] {
  const forgotten = new Set<string>()
  for (const { path, value } of leavesOf(schema, '', inner => inner)) {
    places.replace(value, (text, place) => {
      if (text === mark && place === unlisted) forgotten.add(path)
      return text
    })
  }
  return [...forgotten]
}

/**
 * Returns a value for each string of a schema, with a text in its place, and whether a guard inspects it
 * there.
 */
export function valuesWith (
  text: string,
  schema: TSchema,
  places: PlaceTable
): Array<Leaf & { readonly isSeen: boolean }> {
  return [...leavesOf(schema, '', inner => inner)].map(({ path, value }) => {
    const own = JSON.parse(JSON.stringify(value).replaceAll(mark, text)) as unknown
    let isSeen = false
    places.replace(own, found => {
      isSeen ||= found.includes(text)
      return found
    })
    return { path, value: own, isSeen }
  })
}

/** Returns the texts of a value that guards read as sentences. */
export function sentencesOf (value: object, places: PlaceTable): string[] {
  const sentences: string[] = []
  places.replace(value, (text, { isName }) => {
    if (isName !== true) sentences.push(text)
    return text
  })
  return sentences
}

/** Counts the strings that guards inspect, so that a test of an empty table fails. */
export function countSeen (schema: TSchema, places: PlaceTable): number {
  let seen = 0
  for (const { value } of leavesOf(schema, '', inner => inner)) {
    places.replace(value, (text, { kind }) => {
      if (text === mark && kind !== 'fixed') seen++
      return text
    })
  }
  return seen
}

function* leavesOf (
  schema: AnySchema,
  path: string,
  build: (inner: unknown) => unknown
): Generator<Leaf, void, undefined> {
  const { type, anyOf, items, properties, additionalProperties } = schema
  if (anyOf !== undefined) {
    for (const one of anyOf) yield* leavesOf(one, path, build)
  } else if (
    schema.const !== undefined ||
    schema.enum !== undefined ||
    schema.contentMediaType !== undefined ||
    schema.not !== undefined
  ) {
    return
  } else if (type === 'array' && items !== undefined) {
    yield * leavesOf(items, `${path}[]`, inner => build([inner]))
  } else if (type === 'object' && properties !== undefined) {
    yield * membersOf(properties, path, build)
  } else if (type === 'object' && typeof additionalProperties === 'object') {
    yield * leavesOf(additionalProperties, `${path}.*`, inner => build({ any_name: inner }))
  } else if (type === 'object') {
    yield { path: `${path}.**`, value: build({ any_name: mark }) }
  } else if (type === 'string') {
    yield { path, value: build(mark) }
  } else if (type === undefined) {
    yield { path, value: build(mark) }
    yield { path: `${path}.**`, value: build({ any_name: [mark] }) }
  }
}

function* membersOf (
  properties: Readonly<Record<string, AnySchema>>,
  path: string,
  build: (inner: unknown) => unknown
): Generator<Leaf, void, undefined> {
  for (const kind of kindsOf(properties)) {
    for (const [name, member] of Object.entries(properties)) {
      if (name in kind) continue
      const type = Object.values(kind)[0]
      yield* leavesOf(member, `${path}${type === undefined ? '' : `(${type})`}.${name}`, inner =>
        build({ ...kind, [name]: inner })
      )
    }
  }
}

/** Returns the types or roles that an object may have. */
function kindsOf ({
  type,
  role
}: Readonly<Record<string, AnySchema>>): ReadonlyArray<Readonly<Record<string, string>>> {
  const [name, schema] = type === undefined ? (['role', role] as const) : (['type', type] as const)
  if (schema === undefined) return [{}]
  const values = [schema, ...(schema.anyOf ?? [])].flatMap(one =>
    one.const === undefined ? (one.enum ?? []) : [one.const]
  )
  return values.length === 0
    ? [{ [name]: 'of_another_type' }]
    : values.map(value => ({ [name]: String(value) }))
}
