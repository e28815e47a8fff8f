/** The building blocks shared by every schema of the API. */

import { Type, type Static, type TSchema } from 'typebox'

interface Notes {
  readonly description?: string
  /** What leaving the field out means. For documentation only; nothing fills it in. */
  readonly default?: unknown
}

/**
 * Returns an optional field whose `null` means the same as leaving it out, as in every request of this API.
 * `validate` removes such nulls at the top level, so later code meets `undefined` only.
 */
export function Nullable<T extends TSchema> (schema: T, notes: Notes = {}) {
  return Type.Optional(Type.Union([schema, Type.Null()], { ...notes }))
}

/** A request after `validate`: a field either has a value or is absent. */
export type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> }

/**
 * Returns an id that a caller chooses. Its length is limited: providers limit it as well, and some patterns
 * are applied to it.
 */
export function Identifier (notes: Notes = {}) {
  return Nullable(Type.String({ maxLength: 512 }), notes)
}

/** The name of a model, a route or an alias: it is stored and logged with each call. */
export const ModelName = Type.String({ minLength: 1, maxLength: 256 })

/** Returns one of several literal words. */
export function OneOf<const T extends string[]> (
  words: [...T], options: { description?: string, default?: T[number] } = {}
) {
  return Type.Enum(words, { type: 'string', ...options })
}

interface MapOptions extends Notes {
  readonly maxProperties?: number
  /** The form of each key. */
  readonly propertyNames?: { readonly maxLength?: number, readonly pattern?: string }
}

/**
 * Returns an object with any keys and values of one kind. `Type.Record` would use a pattern for the keys,
 * which costs a regular expression per key and accepts keys with a line break.
 */
export function MapOf<T extends TSchema> (values: T, options: MapOptions = {}) {
  return Type.Unsafe<Record<string, Static<T>>>({
    type: 'object', additionalProperties: values, ...options
  })
}

/** Any object; its content is not checked. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' })
export type AnyObject = Static<typeof AnyObject>
