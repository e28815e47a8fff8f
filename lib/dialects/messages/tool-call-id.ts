/**
 * Ids of tool calls. Callers of this dialect may only have letters, digits, `_` and `-` in them, while
 * servers invent `functions.Bash:0`; an id that comes back goes to the provider as the provider wrote it.
 */

import { createHash } from 'node:crypto'

const legal = /^[a-zA-Z0-9_-]+$/
/** Ids made here; a provider's own id that looks like one is encoded, so that the two never meet. */
const prefix = 'toolu_hg_'
/** OpenAI refuses longer ones. */
const maxLength = 64

/**
 * Returns the id of a provider's call as the caller gets it: different ids stay different, legal ones stay
 * the same.
 */
export function callerToolId (id: string): string {
  return legal.test(id) && !id.startsWith(prefix) ? id : prefix + Buffer.from(id).toString('base64url')
}

/**
 * Returns the id as the provider wrote it, or a stable shorter one where it is too long for some providers.
 */
export function providerToolId (id: string): string {
  const original = id.startsWith(prefix) ? Buffer.from(id.slice(prefix.length), 'base64url').toString() : id
  const callerId = callerToolId(original) === id ? original : id
  if (callerId.length <= maxLength) return callerId
  return `toolu_${createHash('sha256').update(callerId).digest('base64url')}`
}
