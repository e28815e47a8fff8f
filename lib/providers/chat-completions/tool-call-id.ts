import { createHash } from 'node:crypto'
import type { Message } from '../../../schemas/messages.ts'
import type { Quirks } from '../../core/quirks.ts'

const plain = /^[A-Za-z0-9]+$/

/**
 * Returns the message with ids of tool calls as the server wants them: of exactly so many letters and digits, or not longer than
 * so many characters. An id that another provider made becomes a digest of itself, so a call and its result still belong together.
 */
export function withToolCallIds (message: Message, { toolCallIdLength: length, maxToolCallIdLength: max }: Quirks): Message {
  const idOf = (id: string): string => {
    if (length !== undefined) return id.length === length && plain.test(id) ? id : digestOf(id, length)
    return max === undefined || id.length <= max ? id : `call_${digestOf(id, max - 5)}`
  }
  if (message.role === 'tool') {
    const id = idOf(message.tool_call_id)
    return id === message.tool_call_id ? message : { ...message, tool_call_id: id }
  }
  if (message.role !== 'assistant' || message.tool_calls?.every(call => idOf(call.id) === call.id) !== false) return message
  return { ...message, tool_calls: message.tool_calls.map(call => ({ ...call, id: idOf(call.id) })) }
}

function digestOf (id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length)
}
