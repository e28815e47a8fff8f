/** Prints schemas into the OpenAPI document; named schemas become references. */

import { isObject } from '../json/type-guards.ts'

/** The media type of most bodies. */
export const json = 'application/json'

/** A JSON value, as used in the document. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Names of schemas. */
export type Names = ReadonlyMap<unknown, string>

/** Returns a schema as JSON; named schemas, at any depth, become references. */
export function print (value: unknown, names: Names): Json {
  const name = names.get(value)
  return name === undefined ? inner(value, names) : { $ref: `#/components/schemas/${name}` }
}

/** Returns the same, except that the schema itself is written out. */
export function inner (value: unknown, names: Names): Json {
  if (Array.isArray(value)) return value.map(item => print(item, names))
  if (isObject(value)) return mapValues(value, item => print(item, names))
  // Schemas are JSON; TypeBox's own properties are not enumerable.
  return value as Json
}

export function mapValues (from: object, to: (value: unknown) => Json): { [key: string]: Json } {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [key, to(value)]))
}
