/** xAI: the chat-completions dialect with a usage, errors and a few fields of its own. */

import { chatCompletions } from '../chat-completions/index.ts'
import { chatRequest } from './chat-request.ts'
import { flatError, readError } from './errors.ts'
import { readStream } from './chat-stream.ts'
import { inclusiveUsage } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter } from '../provider.ts'

export const xaiChat: Adapter<ChatInput, ChatEvent> = {
  ...chatCompletions,
  request: chatRequest,
  response: (body, ask) => {
    const error = flatError(body)
    if (error !== undefined) throw error
    return chatCompletions.response(body, ask).map(inclusiveUsage)
  },
  stream: readStream,
  error: readError
}
