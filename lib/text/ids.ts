/** Makes the ids of calls, answers and rows. */

import { randomBytes, randomFillSync } from 'node:crypto'

/** Returns the id of a call: a new one, or the caller's `x-request-id` if it is plain enough to log. */
export function requestId (given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomHex()
}

/** Returns `chatcmpl-…`: the gateway's own id of an answer. */
export function completionId (): string {
  return `chatcmpl-${randomHex()}`
}

const idBytes = 16
/** Random bytes for the next 256 ids. */
const randomPool = Buffer.allocUnsafeSlow(256 * idBytes)
let usedBytes = randomPool.length

/** Returns 32 hexadecimal characters: 128 random bits. */
export function randomHex (): string {
  if (usedBytes === randomPool.length) {
    randomFillSync(randomPool)
    usedBytes = 0
  }
  return randomPool.toString('hex', usedBytes, usedBytes += idBytes)
}

const rowPrefix = randomBytes(9).toString('base64url')
let rowCount = 0

/** Returns the id of a usage row: unique across processes, and ordered by time. */
export function rowId (): string {
  return `${rowPrefix}-${(rowCount++).toString(36)}`
}

/**
 * Returns true for an id that `rowId` may have made. `requestId` makes none of this form, but a caller may
 * choose one.
 */
export function isRowId (id: string): boolean {
  return /^[\w-]{12}-[\da-z]+$/.test(id)
}

/** Returns `call_…`: for tool calls whose provider gave no usable id. Unique across answers. */
export function toolCallId (): string {
  return `call_${randomBytes(12).toString('hex')}`
}
