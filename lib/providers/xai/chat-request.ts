/**
 * Builds the upstream body: the dialect's, with xAI's differences. Unknown fields are dropped if they only
 * tune the answer (`providers/kinds`), and rejected if they change what the caller gets.
 */

import { unsupportedParameter } from '../../core/errors.ts'
import { chatBody, chatRequest as dialectRequest } from '../chat-completions/chat-request.ts'
import { objectOf } from '../../json/type-guards.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { AdapterInput, UpstreamRequest } from '../provider.ts'

/** Alternatives per token. Returning fewer than requested would look complete. */
const maxAlternatives = 8

/**
 * @throws GatewayError `unsupported_parameter` for custom tools, audio output, files, audio input, more than
 *   eight alternatives per token, and a seed of more than 32 bits
 */
export function chatRequest (input: AdapterInput<ChatInput>): UpstreamRequest {
  return dialectRequest(input, xaiBody(input))
}

export function xaiBody (input: AdapterInput<ChatInput>): Record<string, unknown> {
  const { request } = input
  refuseUnsupported(request)
  const body = chatBody(input)
  if (typeof body['stop'] === 'string') body['stop'] = [body['stop']]
  if (body['reasoning_effort'] === 'minimal') body['reasoning_effort'] = 'low'
  const { service_tier: tier, search_parameters: search } = request
  if (tier !== 'default' && tier !== 'priority') delete body['service_tier']
  if (search !== undefined && objectOf(search)?.['mode'] !== 'off') body['search_parameters'] = search
  return body
}

function refuseUnsupported ({ top_logprobs: alternatives, seed, messages }: ChatInput): void {
  for (const [index, message] of messages.entries()) {
    const part =
      message.role !== 'user' || typeof message.content === 'string'
        ? -1
        : message.content.findIndex(({ type }) => type !== 'text' && type !== 'image_url')
    if (part !== -1) {
      throw unsupportedParameter(`messages[${index}].content[${part}]`, 'This provider takes text and images only.')
    }
  }
  if (alternatives !== undefined && alternatives > maxAlternatives) {
    throw unsupportedParameter('top_logprobs', `This model lists at most ${maxAlternatives} alternatives per token.`)
  }
  if (seed !== undefined && seed !== (seed | 0)) {
    throw unsupportedParameter('seed', '`seed` must be a 32-bit integer.')
  }
}
