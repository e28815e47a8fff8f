/** A JSON schema as it comes: anything may be anything, so every keyword is read with care. */

export type Schema = Readonly<Record<string, unknown>>

export function objectOf (value: unknown): Schema | undefined {
  return isRecord(value) ? value : undefined
}

// Any object can be read as a record of unknown values.
function isRecord (value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function numberOf (value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
