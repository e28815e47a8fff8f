/**
 * Builds the upstream body from an allow-list: the server rejects requests with unknown fields. Unsupported
 * fields are dropped if they only tune the answer, and rejected if they change what the caller gets.
 */

import { GatewayError } from '../../core/errors.ts'
import { markPrompt } from '../../chat/cache-marks.ts'
import { chatTraits, type ChatTraits } from './chat-traits.ts'
import { wireConversation } from './messages.ts'
import { requestedServiceTier } from './service-tier.ts'
import { thinkingFields } from './thinking.ts'
import { toolFields } from './tools.ts'
import { jsonBody } from '../json-api.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput, UpstreamRequest } from '../provider.ts'
import type { MessagesRequest, WireThinking } from './wire.ts'

/**
 * Headers of every request, with the API version.
 * @see https://docs.claude.com/en/api/versioning
 */
const version = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
const completeHeaders = { ...version, accept: 'application/json' }
const streamHeaders = { ...version, accept: 'text/event-stream' }

/** @throws GatewayError with the name of the parameter, if this provider cannot serve the request */
export function chatRequest (input: AdapterInput<ChatInput>): UpstreamRequest {
  return {
    method: 'POST',
    path: '/v1/messages',
    headers: input.streamed ? streamHeaders : completeHeaders,
    body: jsonBody(messagesRequest(input), input)
  }
}

export function messagesRequest ({
  request,
  route,
  quirks,
  streamed
}: AdapterInput<ChatInput>): MessagesRequest {
  checkSupported(request)
  const traits = chatTraits(route)
  const conversation = wireConversation(request.messages, quirks)
  const tools = toolFields(request, traits)
  const thinking = thinkingFields(request, traits, conversation.messages, tools.tool_choice)
  const stop = [request.stop ?? []].flat().filter(text => text !== '')
  const userId = anonymousUserId(request)
  const tier = requestedServiceTier(request.service_tier)
  const body: MessagesRequest = {
    model: route.model,
    ...thinking,
    ...conversation,
    ...samplingFields(request, traits, thinking.thinking),
    ...stop.length > 0 && { stop_sequences: stop },
    ...streamed && { stream: true },
    ...tools,
    ...userId !== undefined && { metadata: { user_id: userId } },
    ...tier !== undefined && { service_tier: tier }
  }
  return route.minMarkedTokens === undefined ? body : markPrompt(body, route.minMarkedTokens)
}

function checkSupported ({ response_format: format, audio, modalities }: ChatInput): void {
  if (format !== undefined) throw unsupported('response_format')
  if (audio !== undefined) throw unsupported('audio')
  if (modalities?.includes('audio') === true) throw unsupported('modalities')
}

function unsupported (param: string): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: `This provider does not support \`${param}\`.`,
    param
  })
}

/** Our temperature goes up to 2, theirs to 1; newer models reject temperature together with top_p. */
function samplingFields (
  { temperature, top_p: topP, top_k: topK }: ChatInput,
  { sampling }: ChatTraits,
  thinking: WireThinking | undefined
): Pick<MessagesRequest, 'temperature' | 'top_p' | 'top_k'> {
  if (!sampling) return {}
  // With thinking, the only sampling parameter allowed is a top_p of at least 0.95.
  if (thinking !== undefined && thinking.type !== 'disabled') {
    return topP !== undefined && topP >= 0.95 ? { top_p: topP } : {}
  }
  return {
    ...temperature !== undefined && { temperature: Math.min(1, temperature) },
    ...temperature === undefined && topP !== undefined && { top_p: topP },
    ...topK !== undefined && { top_k: topK }
  }
}

const email = /[^\s@]@[^\s@]+\.[^\s@]/
/** Matches a plus sign, groups of digits, or as many digits as a phone number with area code has. */
const phone = /^(?:\+[\d\s().-]{7,}|\(?\d{2,5}\)?[\s.-][\d\s().-]{5,}|\d{10,15})$/

/** The provider wants an opaque id, and rejects requests that identify a person. */
function anonymousUserId ({ safety_identifier: identifier, user }: ChatInput): string | undefined {
  const id = identifier ?? user
  return id === undefined || id.trim() === '' || email.test(id) || phone.test(id.trim()) ? undefined : id
}
