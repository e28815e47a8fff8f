/** Anthropic: the Messages API behind chat completions. */

import { jsonOrSse, splitChoices } from '../json-api.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { readError } from './errors.ts'
import { directFailure, directReader, directRequest } from './direct.ts'
import { anthropicTokenCount } from './token-count.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

const readChat = jsonOrSse(readResponse, readStream)

export const anthropicChat: Adapter<ChatInput, ChatEvent> = {
  directDialects: ['messages'],
  request: input =>
    input.direct === undefined
      ? chatRequest(input)
      : directRequest(input.direct, '/v1/messages', input.streamed),
  read: (head, input) => (input.direct === undefined ? readChat(head, input) : directReader(input)),
  error: (failure, input) => (input.direct === undefined ? readError(failure) : directFailure(failure)),
  split: splitChoices(1)
}

export const anthropicAdapters = { chat: anthropicChat, tokenCount: anthropicTokenCount } satisfies Adapters

/** Returns the credential headers. */
export function anthropicHeaders (key: string): Record<string, string> {
  return { 'x-api-key': key }
}
