/** Counts prompt tokens with the provider's API. */

import { printInSlices } from '../../json/print-in-slices.ts'
import { countOf, objectOf } from '../../json/type-guards.ts'
import { throwFailure } from '../provider-failure.ts'
import { messagesRequest } from './chat-request.ts'
import { directFailure, directRequest } from './direct.ts'
import { errorIn } from './errors.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { Adapter, AdapterInput } from '../provider.ts'

export const anthropicTokenCount: Adapter<ChatInput, ResultEvent<number>> = {
  directDialects: ['messages'],
  request: input => directRequest(input.direct ?? translatedCount(input), '/v1/messages/count_tokens', false),
  read: () => ({ as: 'json', read: value => [{ type: 'result', result: countIn(value) }] }),
  error: directFailure
}

/** Translates the request of another dialect, without fields that only concern the answer. */
function translatedCount (input: AdapterInput<ChatInput>): DirectRequest {
  const { model, messages, system, tools, tool_choice: choice, thinking } = messagesRequest(input)
  const counted = { model, messages, system, tools, tool_choice: choice, thinking }
  return {
    dialect: 'messages',
    body: input.isLarge === true ? () => printInSlices(counted, input.media) : JSON.stringify(counted),
    headers: {},
    query: ''
  }
}

function countIn (value: unknown): number {
  const answer = objectOf(value) ?? {}
  return countOf(answer['input_tokens']) ?? throwFailure(errorIn(answer), 'no count')
}
