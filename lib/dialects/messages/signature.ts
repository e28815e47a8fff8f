/**
 * Carries what a provider needs back, with a tool call or as `reasoning_details`, in the signature of a
 * thinking block: clients of this dialect return thinking unchanged and drop unknown fields.
 */

import { objectOf } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'

/** Version of the envelope, followed by JSON in base64url. */
const prefix = 'hg1.'

/** Returns a signature that contains fields of a message or of a tool call. */
export function sealFields (fields: Readonly<Record<string, unknown>>): string {
  return prefix + Buffer.from(JSON.stringify(fields)).toString('base64url')
}

/** Returns true for a signature created by the gateway, which no provider knows. */
export function isSealed (signature: string): boolean {
  return signature.startsWith(prefix)
}

/** Returns the fields in a gateway signature; `undefined` if it is damaged. */
export function openFields (signature: string): Record<string, unknown> | undefined {
  try {
    return objectOf(parseBounded(Buffer.from(signature.slice(prefix.length), 'base64url').toString()))
  } catch {
    return undefined
  }
}
