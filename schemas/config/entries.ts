/** The kinds of entries of `headgate.yaml`: maps, durations, sizes, counts, names, addresses. */

import { Type, type TObject, type TProperties, type TSchema } from 'typebox'

export const hour = 3_600_000
export const day = 24 * hour
export const mebibyte = 1024 * 1024

/** Returns a map with known entries only: an unknown one is an error. */
export function Closed<T extends TProperties> (properties: T, options: object = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/** Returns a closed map that exists, with its own defaults, even if the file lacks it. */
export function Section<T extends TProperties> (properties: T, description: string): TObject<T> {
  return Closed(properties, { default: {}, description })
}

/** Returns a duration with its default. */
export function Milliseconds (milliseconds: number, description: string, maximum = day) {
  return Type.Integer({ minimum: 1, maximum, default: milliseconds, description })
}

/** Returns a size with its default. */
export function Bytes (bytes: number, description: string) {
  return Type.Integer({ minimum: 1024, maximum: 1024 * mebibyte, default: bytes, description })
}

/** Returns a number of at least one, with its default. */
export function Count (count: number, description: string, maximum = 1_000_000) {
  return Type.Integer({ minimum: 1, maximum, default: count, description })
}

/** The form of a name. Editors and the gateway report `patternErrorMessage`. */
interface NameRule { pattern: string, patternErrorMessage: string }

export const word: NameRule = { pattern: '^\\S+$', patternErrorMessage: 'names must not contain spaces' }

/** Returns a map with names that the operator chooses. */
export function Named<T extends TSchema> (entry: T, description: string, name: NameRule = word) {
  return Type.Record(Type.String(), entry, { default: {}, description, propertyNames: name })
}

/** Returns a non-empty text. */
export const Text = (description: string) => Type.String({ minLength: 1, description })

/** Returns an address without user, query and fragment. */
export const HttpUrl = (description: string) => Type.String({
  pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
  patternErrorMessage: 'must be an http:// or https:// address without user, query and fragment',
  description
})
