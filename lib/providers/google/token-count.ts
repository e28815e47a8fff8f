/** Counts prompt tokens with the provider's API. */

import { countOf, objectOf } from '../../json/type-guards.ts'
import { jsonBody, jsonHeaders } from '../json-api.ts'
import { throwFailure } from '../provider-failure.ts'
import { chatTraits } from './chat-traits.ts'
import { inBandError, readError } from './errors.ts'
import { wireConversation } from './messages.ts'
import { toolFields } from './tools.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ResultEvent } from '../../core/events.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'
import type { CountTokensRequest } from './wire.ts'

/** @see https://ai.google.dev/api/tokens */
export const googleTokenCount: Adapter<ChatInput, ResultEvent<number>> = {
  request: countRequest,
  read: () => ({ as: 'json', read: value => [{ type: 'result', result: countIn(value) }] }),
  error: readError
}

/** The API counts system prompt and tools only inside a generate request. */
function countRequest (input: AdapterInput<ChatInput>): UpstreamRequest {
  const { request, route } = input
  const body: CountTokensRequest = {
    generateContentRequest: {
      model: `models/${route.model}`,
      ...wireConversation(request.messages, chatTraits(route)),
      ...toolFields(request),
      ...request.cached_content !== undefined && { cachedContent: request.cached_content }
    }
  }
  return {
    method: 'POST',
    path: `/v1beta/models/${encodeURIComponent(route.model)}:countTokens`,
    headers: jsonHeaders,
    body: jsonBody(body, input)
  }
}

function countIn (value: unknown): number {
  const wire = objectOf(value) ?? {}
  return countOf(wire['totalTokens']) ?? throwFailure(inBandError(wire), 'no count')
}
