/**
 * Reads values of unknown JSON: each guard returns the value as the type it asks for, or says that
 * it is none. One place, so that all of them agree on what a list, `null` or an empty text is.
 */

export type JsonObject = Record<string, unknown>

/** Returns true for an object that is no list and not null. */
export function isObject (value: unknown): value is JsonObject {
  return isContainer(value) && !Array.isArray(value)
}

/** Returns true for what holds other values: an object or a list. */
export function isContainer (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Returns true for a list: `Array.isArray` does not narrow what may be a readonly one. */
export function isList (value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** Returns the value as an object to read from, or `undefined`. */
export function objectOf (value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

/** Returns the object of a list that holds nothing else, or `undefined`. */
export function onlyObjectOf (value: unknown): JsonObject | undefined {
  return isList(value) && value.length === 1 ? objectOf(value[0]) : undefined
}

/** Returns a member of a value that may be an object, an error or a list; `undefined` of anything else. */
export function property (value: unknown, name: string): unknown {
  return isContainer(value) ? Reflect.get(value, name) : undefined
}

/** Returns the value as a text that is not empty, or `undefined`. */
export function nonEmptyText (value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Returns a value of JSON as a text. `String` throws for an object with a member that is called `toString`.
 */
export function textOfValue (value: unknown): string {
  return isContainer(value) ? JSON.stringify(value) : String(value)
}

/** A number as JSON writes it: neither hexadecimal nor blank. */
const numberInText = /^\s{0,8}[-+]?\d{1,15}(?:\.\d{1,17})?(?:[eE][-+]?\d{1,3})?\s{0,8}$/

/** Returns the value as a finite number, or `undefined`. Servers write numbers as text, too: `"12"` is 12. */
export function numberOf (value: unknown): number | undefined {
  const number = typeof value === 'string' && numberInText.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/**
 * Returns the value as a whole number from 0, or `undefined` for what is no number. Negative counts have been
 * seen: 0.
 */
export function countOf (value: unknown): number | undefined {
  const number = numberOf(value)
  return number === undefined ? undefined : Math.max(0, Math.round(number))
}

/** Returns the objects of a list in their order; none when the value is no list. */
export function objectsOf<T extends object> (value: readonly T[] | undefined): readonly T[]
export function objectsOf (value: unknown): readonly JsonObject[]
export function objectsOf (value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Returns true for a value with a member of that name, however deep. */
export function hasMember (value: unknown, name: string): boolean {
  if (isList(value)) {
    for (const part of value) if (hasMember(part, name)) return true
  } else if (isObject(value)) {
    for (const field in value) if (field === name || hasMember(value[field], name)) return true
  }
  return false
}
