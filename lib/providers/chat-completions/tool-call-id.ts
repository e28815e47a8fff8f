import { createHash } from 'node:crypto'
import type { Message } from '../../../schemas/messages.ts'

const plain = /^[A-Za-z0-9]+$/

/**
 * Returns the message with ids of tool calls as a strict server wants them: exactly `length` letters and
 * digits. An id made by another provider becomes a digest of itself, so a call and its result
 * still belong together.
 */
export function withToolCallIds (message: Message, length: number): Message {
  if (message.role === 'tool') return { ...message, tool_call_id: idOf(message.tool_call_id, length) }
  if (message.role !== 'assistant' || message.tool_calls === undefined || message.tool_calls === null) return message
  return { ...message, tool_calls: message.tool_calls.map(call => ({ ...call, id: idOf(call.id, length) })) }
}

function idOf (id: string, length: number): string {
  return id.length === length && plain.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, length)
}
