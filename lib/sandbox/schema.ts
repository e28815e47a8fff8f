/** A JSON schema as it comes: anything may be anything, so every keyword is read with care. */

export type Schema = Readonly<Record<string, unknown>>
