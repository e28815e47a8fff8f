/** Reads values of an unvalidated file. */

import { isObject, type JsonObject } from '../json/type-guards.ts'

/** Returns a number of at least 0, which may be written as text. */
export function amountOf (value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined
}

export function objectOrEmpty (value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

export function entriesOf (value: unknown): Array<[string, unknown]> {
  return Object.entries(objectOrEmpty(value))
}

export function isEmpty (object: object): boolean {
  return Object.keys(object).length === 0
}

/** Returns true for an address that a configuration may contain: user, query and fragment may be secrets. */
export function isPlainAddress (address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, username, password, search, hash } = new URL(address)
  return /^https?:$/.test(protocol) && username + password + search + hash === ''
}

/** Returns seconds as milliseconds within the bounds of a timeout. */
export function milliseconds (seconds: number): number {
  return Math.max(1, Math.min(86_400_000, Math.round(seconds * 1000)))
}
