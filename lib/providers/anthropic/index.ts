/** Anthropic: the Messages API behind our chat completions. */

import { jsonOrSse } from '../json-response.ts'
import { splitChoices } from '../json-request.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { readError } from './errors.ts'
import { directFailure, directReader, directRequest } from './direct.ts'
import { anthropicTokenCount } from './token-count.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

export const anthropicChat: Adapter<ChatInput, ChatEvent> = {
  directDialects: ['messages'],
  request: ask => ask.direct === undefined ? chatRequest(ask) : directRequest(ask.direct, '/v1/messages', ask.streamed),
  read: (_head, ask) => ask.direct === undefined ? jsonOrSse(ask, readResponse, readStream) : directReader(ask),
  error: (failure, ask) => ask.direct === undefined ? readError(failure) : directFailure(failure),
  split: ask => splitChoices(ask, 1)
}

export const anthropicAdapters = { chat: anthropicChat, tokenCount: anthropicTokenCount } satisfies Adapters

/** Returns the credential, as this provider wants it. */
export function anthropicHeaders (key: string): Record<string, string> {
  return { 'x-api-key': key }
}
