/** Anthropic: the Messages API behind our chat completions. */

import { jsonOrSse } from '../json-or-sse.ts'
import { splitChoices } from '../split-choices.ts'
import { invalidResponse } from '../provider-failure.ts'
import { numberOf, objectOf } from '../../json/guards.ts'
import { chatRequest, messagesRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { directFailure, directReader, directRequest } from './pass-through.ts'
import { readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent, ResultEvent } from '../../core/events.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { Adapter, Ask } from '../provider.ts'

export const anthropicChat: Adapter<ChatInput, ChatEvent> = {
  direct: 'messages',
  request: ask => ask.direct === undefined ? chatRequest(ask) : directRequest(ask.direct, '/v1/messages', ask.streamed),
  read: (_head, ask) => ask.direct === undefined ? jsonOrSse(ask, readResponse, readStream) : directReader(ask),
  error: (failure, ask) => ask.direct === undefined ? readError(failure) : directFailure(failure),
  split: ask => splitChoices(ask, 1)
}

export const anthropicTokenCount: Adapter<ChatInput, ResultEvent<number>> = {
  direct: 'messages',
  request: ask => directRequest(ask.direct ?? translatedCount(ask), '/v1/messages/count_tokens', false),
  read: () => ({ as: 'json', read: value => [{ type: 'result', result: countIn(value) }] }),
  error: directFailure
}

/** A request of a caller who speaks another dialect, without what only an answer needs. */
function translatedCount (ask: Ask<ChatInput>): DirectRequest {
  const { model, messages, system, tools, tool_choice: choice, thinking } = messagesRequest(ask)
  return { dialect: 'messages', body: JSON.stringify({ model, messages, system, tools, tool_choice: choice, thinking }), headers: {}, query: '' }
}

function countIn (value: unknown): number {
  const count = numberOf(objectOf(value)?.['input_tokens'])
  if (count === undefined) throw invalidResponse('no count')
  return count
}

/** Returns the credential, as this provider wants it. */
export function anthropicHeaders (key: string): Record<string, string> {
  return { 'x-api-key': key }
}
