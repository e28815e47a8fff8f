/**
 * Ids of tool calls. This dialect only allows letters, digits, `_` and `-`, while servers send ids such as
 * `functions.Bash:0`. The provider gets its own id back.
 */

import { createHash } from 'node:crypto'

const legal = /^[a-zA-Z0-9_-]+$/
/** Ids created here. A provider's id that matches is encoded, so that the two never collide. */
const prefix = 'toolu_hg_'
/** OpenAI rejects longer ids. */
const maxLength = 64

/** Returns the caller's id for a provider's call: injective, and legal ids stay unchanged. */
export function callerToolId (id: string): string {
  return legal.test(id) && !id.startsWith(prefix) ? id : prefix + Buffer.from(id).toString('base64url')
}

/** Returns the provider's original id, or a stable shorter one if it is too long for some providers. */
export function providerToolId (id: string): string {
  const original = id.startsWith(prefix) ? Buffer.from(id.slice(prefix.length), 'base64url').toString() : id
  const callerId = callerToolId(original) === id ? original : id
  if (callerId.length <= maxLength) return callerId
  return `toolu_${createHash('sha256').update(callerId).digest('base64url')}`
}
