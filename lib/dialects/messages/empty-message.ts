import { randomUUID } from 'node:crypto'
import { toJsonReply, type Reply } from '../../core/reply.ts'
import { estimatedUsage } from './usage.ts'
import type { MessagesAnswer } from '../../../schemas/messages-answer.ts'
import type { DialectCall } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

/** Returns the answer to a request for no tokens, under the name that the caller has for the model. */
export function emptyMessage ({ id, context: { request: { model } } }: DialectCall<MessagesContext>): Reply {
  const message: MessagesAnswer = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: 'max_tokens',
    stop_sequence: null,
    usage: estimatedUsage(0, 0)
  }
  const reply = toJsonReply(message)
  return { ...reply, headers: { ...reply.headers, 'request-id': id } }
}
