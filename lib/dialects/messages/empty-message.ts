import { randomUUID } from 'node:crypto'
import { estimatedUsage } from './usage.ts'
import type { MessagesAnswer } from '../../../schemas/messages-answer.ts'

/** Returns the answer to a request for no tokens. */
export function emptyMessage (model: string): MessagesAnswer {
  return {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: 'max_tokens',
    stop_sequence: null,
    usage: estimatedUsage(0, 0)
  }
}
