/** Prints schemas into the OpenAPI document, those with a name as references. */

import { isObject } from '../json/guards.ts'

/** The media type of most bodies. */
export const json = 'application/json'

/** A JSON value: the document has no other kind. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Schemas that have a name, with it. */
export type Names = ReadonlyMap<unknown, string>

/** Returns a schema as JSON; a named one, wherever it stands, as a reference. */
export function print (value: unknown, names: Names): Json {
  const name = names.get(value)
  return name === undefined ? inner(value, names) : { $ref: `#/components/schemas/${name}` }
}

/** Returns the same, but for the schema itself, which stands here under its name. */
export function inner (value: unknown, names: Names): Json {
  if (Array.isArray(value)) return value.map(item => print(item, names))
  if (isObject(value)) return mapValues(value, item => print(item, names))
  // Schemas are JSON; what TypeBox keeps beside it is not enumerable.
  return value as Json
}

export function mapValues (from: object, to: (value: unknown) => Json): { [key: string]: Json } {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, to(value)]))
}
