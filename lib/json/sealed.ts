/**
 * Carries what a provider needs back in an opaque string, such as the signature of thinking: callers return
 * it unchanged, and drop fields that they do not know. It is not encrypted, and a caller may forge one: what
 * it holds is checked as any input, and guards inspect it (`json/place-table`).
 */

import { objectOf, type JsonObject } from './type-guards.ts'
import { parseBounded } from './parse-bounded.ts'

/** Version of the format, followed by JSON in base64url. */
const prefix = 'hg1.'

export function seal (fields: object): string {
  return prefix + Buffer.from(JSON.stringify(fields)).toString('base64url')
}

/** Returns true for a string sealed here, even if damaged. No provider knows it. */
export function isSealed (text: string): boolean {
  return text.startsWith(prefix)
}

/** Returns the sealed fields; `undefined` for any other string, and for a damaged one. */
export function openSealed (text: string): JsonObject | undefined {
  if (!isSealed(text)) return undefined
  try {
    return objectOf(parseBounded(Buffer.from(text.slice(prefix.length), 'base64url').toString()))
  } catch {
    return undefined // modified or truncated: treated as absent
  }
}
