import { randomUUID } from 'node:crypto'
import { eventStreamHeaders, toJsonReply, type Reply } from '../../core/reply.ts'
import { framesOf } from './encode.ts'
import { estimatedUsage } from './usage.ts'
import type { MessagesAnswer } from '../../../schemas/messages-answer.ts'
import type { DialectCall } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

/**
 * Returns the answer to a request with `max_tokens: 0`, complete or as a stream, with the caller's name for
 * the model.
 */
export function emptyMessage ({ id, request, context }: DialectCall<MessagesContext>): Reply {
  const head = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model: context.request.model
  } as const
  const end = { stop_reason: 'max_tokens', stop_sequence: null } as const
  const usage = estimatedUsage(0, 0)
  const reply = request.stream === true
    ? {
        status: 200,
        headers: eventStreamHeaders,
        body: framesOf([
          {
            type: 'message_start',
            message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage }
          },
          { type: 'ping' },
          { type: 'message_delta', delta: end, usage },
          { type: 'message_stop' }
        ])
      }
    : toJsonReply({ ...head, content: [], ...end, usage } satisfies MessagesAnswer)
  return { ...reply, headers: { ...reply.headers, 'request-id': id } }
}
