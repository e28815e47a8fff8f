/**
 * Guards for unknown JSON: each returns the value with the requested type, or `undefined`. They are in one
 * place so that all code agrees on lists, `null` and empty strings.
 */

export type JsonObject = Record<string, unknown>

/** Returns true for an object that is neither a list nor null. */
export function isObject (value: unknown): value is JsonObject {
  return isContainer(value) && !Array.isArray(value)
}

/** Returns true for an object or a list. */
export function isContainer (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Returns true for a list: `Array.isArray` does not narrow readonly arrays. */
export function isList (value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** Returns the value as a list; an empty one for anything else. */
export function listOf (value: unknown): readonly unknown[] {
  return isList(value) ? value : []
}

/** Returns the value as an object, or `undefined`. */
export function objectOf (value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

/** Returns the object of a list that contains nothing else, or `undefined`. */
export function onlyObjectOf (value: unknown): JsonObject | undefined {
  return isList(value) && value.length === 1 ? objectOf(value[0]) : undefined
}

/** Returns a member of an object, error or list; `undefined` for anything else. */
export function property (value: unknown, name: string): unknown {
  return isContainer(value) ? Reflect.get(value, name) : undefined
}

/** Returns the value as a non-empty string, or `undefined`. */
export function nonEmptyText (value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns a string as it is, and any other value as JSON; `undefined` becomes an empty string. */
export function stringOrJson (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value) ?? ''
}

/** Converts a JSON value to a string. `String` throws for an object with a member named `toString`. */
export function textOfValue (value: unknown): string {
  return isContainer(value) ? JSON.stringify(value) : String(value)
}

/** A decimal number, not hexadecimal or blank. */
const numberInText = /^\s{0,8}[-+]?\d{1,15}(?:\.\d{1,17})?(?:[eE][-+]?\d{1,3})?\s{0,8}$/

/**
 * Returns the value as a finite number, or `undefined`. Some servers write numbers as strings: `"12"` is 12.
 */
export function numberOf (value: unknown): number | undefined {
  const number = typeof value === 'string' && numberInText.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/**
 * Returns the value as a non-negative integer, or `undefined` if it is not a number. Some servers send
 * negative counts, which become 0.
 */
export function countOf (value: unknown): number | undefined {
  const number = numberOf(value)
  return number === undefined ? undefined : Math.max(0, Math.round(number))
}

/** Returns the objects of a list in order; none if the value is not a list. */
export function objectsOf<T extends object> (value: readonly T[] | undefined): readonly T[]
export function objectsOf (value: unknown): readonly JsonObject[]
export function objectsOf (value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Returns the object without members that are null; usually it has none, and is returned itself. */
export function withoutNulls (object: JsonObject): JsonObject {
  for (const name in object) {
    if (object[name] === null) {
      return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
    }
  }
  return object
}

/** Returns true if the value has a member with that name at any depth. */
export function hasMember (value: unknown, name: string): boolean {
  if (isList(value)) {
    for (const part of value) if (hasMember(part, name)) return true
  } else if (isObject(value)) {
    for (const field in value) if (field === name || hasMember(value[field], name)) return true
  }
  return false
}
