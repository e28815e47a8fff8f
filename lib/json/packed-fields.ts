/**
 * Packs what a provider needs back into an opaque string, such as the signature of thinking: callers return
 * it unchanged, and drop fields that they do not know. It is not encrypted, and a caller may forge one: what
 * it holds is checked as any input, and guards inspect it (`json/place-table`).
 */

import { objectOf, type JsonObject } from './type-guards.ts'
import { parseBounded } from './parse-bounded.ts'

/** Version of the format, followed by JSON in base64url. */
const prefix = 'hg1.'

export function packFields (fields: object): string {
  return prefix + Buffer.from(JSON.stringify(fields)).toString('base64url')
}

/** Returns true for a string packed here, even if damaged. Providers cannot read it. */
export function isPacked (text: string): boolean {
  return text.startsWith(prefix)
}

/** Returns the packed fields; `undefined` for any other string, and for a damaged one. */
export function unpackFields (text: string): JsonObject | undefined {
  if (!isPacked(text)) return undefined
  try {
    return objectOf(parseBounded(Buffer.from(text.slice(prefix.length), 'base64url').toString()))
  } catch {
    return undefined // modified or truncated: treated as absent
  }
}
