/**
 * OpenAI's Responses API as a provider API: for models available nowhere else, and for callers who speak it.
 */

import { nearestEffort, thinks } from '../../chat/effort.ts'
import { jsonOrSse, splitChoices } from '../json-api.ts'
import { chatRequest } from './chat-request.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { directReader, directRequest } from './direct.ts'
import { readDirectError, readError } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Route } from '../../core/route.ts'
import type { Adapter, AdapterInput } from '../provider.ts'

type ChatAdapter = Adapter<ChatInput, ChatEvent>

const readChat = jsonOrSse(readResponse, readStream)

const responses: ChatAdapter = {
  directDialects: ['responses'],
  request: input =>
    input.direct === undefined ? chatRequest(input) : directRequest(input.direct, input.streamed),
  read: (head, input) => (input.direct === undefined ? readChat(head, input) : directReader(input)),
  error: (failure, input) =>
    input.direct === undefined ? readError(failure) : readDirectError(failure, input.direct.action),
  split: splitChoices(1)
}

/**
 * Adds this API to the adapter of a chat-completions server. It receives requests of callers who speak it,
 * and chats that chat completions cannot serve: all for some models, those with tools for others.
 */
export function withResponses (
  chat: ChatAdapter
): ChatAdapter & Required<Pick<ChatAdapter, 'deleteResponse'>> {
  const adapterOf = ({ direct, request, route }: AdapterInput<ChatInput>): ChatAdapter =>
    direct?.dialect === 'responses' || (direct === undefined && needsResponses(request, route))
      ? responses
      : chat
  return {
    directDialects: [...(chat.directDialects ?? []), 'responses'],
    request: input => adapterOf(input).request(input),
    read: (head, input) => adapterOf(input).read(head, input),
    error: (failure, input) => adapterOf(input).error(failure, input),
    deleteResponse: id => ({
      method: 'DELETE',
      path: `/responses/${encodeURIComponent(id)}`,
      headers: { accept: 'application/json' }
    }),
    split: input => adapterOf(input).split?.(input) ?? [input]
  }
}

/** Returns true for a chat that only this API can serve. */
export function needsResponses (
  { tools = [], functions = [], reasoning_effort: requested }: ChatInput,
  { traits = {} }: Route
): boolean {
  if (traits.responsesOnly === true) return true
  const effort = requested === undefined ? undefined : nearestEffort(requested, traits.efforts)
  return traits.toolsAtResponses === true && tools.length + functions.length > 0 && thinks(effort, traits)
}
