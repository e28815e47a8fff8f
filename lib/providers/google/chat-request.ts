/** Builds a `generateContent` request from an allow-list. */

import { GatewayError } from '../../core/errors.ts'
import { chatTraits } from './chat-traits.ts'
import { wireConversation } from './messages.ts'
import { generationConfigOf } from './generation-config.ts'
import { toolFields } from './tools.ts'
import { jsonBody } from '../json-api.ts'
import type { GenerateContentRequest, ServiceTier } from './wire.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput, UpstreamRequest } from '../provider.ts'

const tiers: Readonly<Partial<Record<NonNullable<ChatInput['service_tier']>, ServiceTier>>> = {
  default: 'standard', standard_only: 'standard', flex: 'flex', priority: 'priority'
}

/**
 * Builds the request. The path contains the model and the method; the key is sent in a header, never in the
 * URL.
 *
 * @throws GatewayError 400 with the exact parameter, if the caller would get something other than requested
 * @see https://ai.google.dev/api/generate-content
 */
export function chatRequest (input: AdapterInput<ChatInput>): UpstreamRequest {
  const method = input.streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return {
    method: 'POST',
    path: `/v1beta/models/${encodeURIComponent(input.route.model)}:${method}`,
    headers: {
      'content-type': 'application/json',
      accept: input.streamed ? 'text/event-stream' : 'application/json'
    },
    body: jsonBody(chatBody(input), input)
  }
}

/** Returns the maximum number of candidates per request. */
export function maxChoices ({ route }: AdapterInput<ChatInput>): number {
  return chatTraits(route).maxChoices
}

function chatBody ({ request, route }: AdapterInput<ChatInput>): GenerateContentRequest {
  refuseUnsupported(request)
  const traits = chatTraits(route)
  const generationConfig = generationConfigOf(request, traits)
  const tier = request.service_tier === undefined ? undefined : tiers[request.service_tier]
  return {
    ...wireConversation(request.messages, traits),
    ...toolFields(request),
    ...request.safety_settings !== undefined && { safetySettings: request.safety_settings },
    ...Object.keys(generationConfig).length > 0 && { generationConfig },
    ...request.cached_content !== undefined && { cachedContent: request.cached_content },
    ...tier !== undefined && { serviceTier: tier }
  }
}

function refuseUnsupported (request: ChatInput): void {
  if (request.modalities?.includes('audio') === true) refuseAudio('modalities')
  if (request.audio !== undefined) refuseAudio('audio')
}

function refuseAudio (param: string): never {
  throw new GatewayError('unsupported_parameter', {
    message: 'This model does not answer with audio.',
    param
  })
}
