/**
 * Builds the upstream body from an allow-list. Unsupported fields are dropped if they only tune the answer,
 * and rejected if they change what the caller gets.
 */

import { functionsAsTools } from '../../chat/legacy-functions.ts'
import { fitTuning } from '../../chat/effort.ts'
import { showsThinking } from '../../chat/shows-thinking.ts'
import { unsupportedParameter } from '../../core/errors.ts'
import { jsonBody, jsonHeaders } from '../json-api.ts'
import { wireConversation } from './messages.ts'
import { toolFields } from './tools.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput, UpstreamRequest } from '../provider.ts'
import type { ResponsesBody } from './wire.ts'

const streamHeaders = { 'content-type': 'application/json', accept: 'text/event-stream' }

/** OpenAI's minimum. */
const minOutputTokens = 16

/** Fields sent with the caller's value. */
const forwarded = [
  'temperature',
  'top_p',
  'top_logprobs',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention'
] as const satisfies ReadonlyArray<keyof ChatInput>

/** @throws GatewayError with the name of the parameter, if this API cannot serve the request */
export function chatRequest (input: AdapterInput<ChatInput>): UpstreamRequest {
  return {
    method: 'POST',
    path: '/responses',
    headers: input.streamed ? streamHeaders : jsonHeaders,
    body: jsonBody(responsesBody(input), input)
  }
}

/** Returns the body. Nothing is stored at the provider: the conversation carries the reasoning. */
export function responsesBody ({
  request: given,
  route,
  quirks,
  streamed,
  account
}: AdapterInput<ChatInput>): ResponsesBody {
  const request = functionsAsTools(fitTuning(given, route.traits))
  refuseUnsupported(request)
  const { max_completion_tokens: total, max_tokens: legacy, service_tier: tier } = request
  const limit = total ?? legacy
  const body: ResponsesBody = {
    model: route.model,
    input: wireConversation(request.messages, account),
    store: request.store === true,
    include: [
      'reasoning.encrypted_content',
      ...(request.logprobs === true ? ['message.output_text.logprobs'] : [])
    ],
    ...limit !== undefined && {
      max_output_tokens: Math.max(limit, route.traits?.minOutputTokens ?? minOutputTokens)
    },
    ...reasoningField(request),
    ...textField(request),
    ...toolFields(request),
    ...tier !== undefined && { service_tier: tier === 'standard_only' ? 'default' : tier },
    ...streamed && { stream: true, stream_options: { include_obfuscation: false } }
  }
  for (const field of forwarded) if (request[field] !== undefined) body[field] = request[field]
  for (const field of quirks.omit ?? []) delete body[field] // our own object, just created
  return body
}

function refuseUnsupported ({ stop = [], audio, modalities }: ChatInput): void {
  if (audio !== undefined || modalities?.includes('audio') === true) {
    throw unsupportedParameter(audio === undefined ? 'modalities' : 'audio', 'This model does not answer with audio.')
  }
  if (stop.length > 0) throw unsupportedParameter('stop', 'This model does not support `stop`.')
}

/** Requests a summary only if the caller wants to read the thinking: some accounts may not request any. */
function reasoningField (request: ChatInput): Pick<ResponsesBody, 'reasoning'> {
  const { reasoning_effort: effort, reasoningSummary: summary = 'auto' } = request
  const wantsText = showsThinking(request)
  if (effort === undefined && !wantsText) return {}
  return { reasoning: { ...effort !== undefined && { effort }, ...wantsText && { summary } } }
}

function textField ({ response_format: format, verbosity }: ChatInput): Pick<ResponsesBody, 'text'> {
  if (format === undefined && verbosity === undefined) return {}
  return {
    text: {
      ...format !== undefined && { format: flatFormat(format) },
      ...verbosity !== undefined && { verbosity }
    }
  }
}

function flatFormat (format: NonNullable<ChatInput['response_format']>): Record<string, unknown> {
  return format.type === 'json_schema' ? { type: format.type, ...format.json_schema } : { type: format.type }
}
