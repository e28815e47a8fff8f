/** xAI: the chat-completions dialect with xAI's usage, errors and additional fields. */

import { chatCompletions } from '../chat-completions/index.ts'
import { jsonOrSse } from '../json-api.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { xaiDeferred } from './deferred.ts'
import { readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

export const xaiChat: Adapter<ChatInput, ChatEvent> = {
  ...chatCompletions,
  request: chatRequest,
  read: jsonOrSse(readResponse, readStream),
  error: readError
}

export const xaiAdapters = { chat: xaiChat, deferred: xaiDeferred } satisfies Adapters
