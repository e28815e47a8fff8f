import { randomBytes, randomUUID } from 'node:crypto'

/** The id of a call: ours, or the caller's `x-request-id` if it is plain enough to log. */
export function requestId (given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
}

/** `chatcmpl-…`: the gateway's own id of an answer. */
export function completionId (): string {
  return `chatcmpl-${randomUUID().replaceAll('-', '')}`
}

/** `call_…`: for tool calls whose provider gave no usable id. Unique across answers. */
export function toolCallId (): string {
  return `call_${randomBytes(12).toString('hex')}`
}
