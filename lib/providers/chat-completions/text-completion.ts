/** Text completions: legacy completions on most servers, fill-in-the-middle on Mistral. */

import { jsonBody, jsonHeaders, splitChoices, jsonOrSse } from '../json-api.ts'
import { readResponse } from './chat-response.ts'
import { readStream } from './chat-stream.ts'
import { readError } from './errors.ts'
import type { TextInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'

/** Fields sent with the caller's value. */
const forwarded = [
  'temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'seed', 'n', 'stop', 'user'
] as const satisfies ReadonlyArray<keyof TextInput>

/** @param path of the endpoint */
export function textCompletionAt (path: string): Adapter<TextInput, ChatEvent> {
  return {
    request: input => textRequest(input, path),
    read: jsonOrSse(readResponse, readStream),
    error: readError,
    split: splitChoices(Infinity)
  }
}

function textRequest (input: AdapterInput<TextInput>, path: string): UpstreamRequest {
  const { request, route, quirks, streamed } = input
  const {
    text,
    max_tokens: maxTokens,
    max_completion_tokens: capped,
    logprobs,
    top_logprobs: alternatives
  } = request
  const body: Record<string, unknown> = {
    model: route.model,
    ...text,
    max_tokens: capped ?? maxTokens,
    ...Object.fromEntries(forwarded.map(field => [quirks.rename?.[field] ?? field, request[field]])),
    ...logprobs === true && { logprobs: alternatives },
    ...streamed && {
      stream: true,
      ...quirks.streamUsage !== false && { stream_options: { include_usage: true } }
    }
  }
  for (const field of quirks.omit ?? []) delete body[field] // our own object, just created
  return {
    method: 'POST',
    path,
    headers: streamed ? { ...jsonHeaders, accept: 'text/event-stream' } : jsonHeaders,
    body: jsonBody(body, input)
  }
}
