import { randomBytes, randomUUID } from 'node:crypto'

/** Returns the id of a call: ours, or the caller's `x-request-id` if it is plain enough to log. */
export function requestId (given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
}

/** Returns `chatcmpl-…`: the gateway's own id of an answer. */
export function completionId (): string {
  return `chatcmpl-${randomHex()}`
}

/** Returns 32 characters with 122 random bits. */
export function randomHex (): string {
  const id = randomUUID() // five pieces: `replaceAll` takes three times as long
  return `${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`
}

const rows = randomBytes(9).toString('base64url')
let row = 0

/** Makes the id of a usage row: unique across processes, and ordered by time. */
export function rowId (): string {
  return `${rows}-${(row++).toString(36)}`
}

/** Returns true for what `rowId` may have made, which is no id that `requestId` makes; a caller may choose such a one. */
export function isRowId (id: string): boolean {
  return /^[\w-]{12}-[\da-z]+$/.test(id)
}

/** Returns `call_…`: for tool calls whose provider gave no usable id. Unique across answers. */
export function toolCallId (): string {
  return `call_${randomBytes(12).toString('hex')}`
}
