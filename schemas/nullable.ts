import { Type, type TSchema } from 'typebox'

/**
 * An optional field whose `null` means the same as leaving it out: so it is in every request of
 * this API. `validate` removes such nulls, so the rest of the code meets `undefined` only.
 */
export function Nullable<T extends TSchema> (schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

/** One of a few words. */
export function OneOf<const T extends string[]> (words: [...T], options: { description?: string } = {}) {
  return Type.Enum(words, { type: 'string', ...options })
}

/** Any object; what is in it is somebody else's business. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown())
export type AnyObject = Record<string, unknown>
