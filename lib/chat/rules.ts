/**
 * Rules between fields of a chat request, which a schema cannot express and which providers would report in
 * different ways.
 *
 * Provider-specific limits, such as names of tools, ids of tool calls, thinking budgets and
 * `response_format`, belong to the adapters.
 */

import { ValidationError, invalidValue } from '../core/errors.ts'
import type { ChatCall, ChatInput } from './input.ts'

/**
 * Returns the call unchanged if its fields are consistent.
 *
 * @throws GatewayError `invalid_value` (400) with the invalid parameter
 * @throws ValidationError (422) for a tool server without exactly one of slug and URL
 */
export function checkChatRules (call: ChatCall): ChatCall {
  const { mcp_servers: servers, logprobs, top_logprobs: top, modalities, audio } = call.request
  if (servers !== undefined && typeof servers !== 'string') checkToolServers(servers)
  // `top_logprobs` extends `logprobs`.
  if (top !== undefined && logprobs !== true) {
    throw invalidValue('top_logprobs', '`top_logprobs` requires `logprobs` to be true.')
  }
  // There is no default for the voice and format of an audio answer.
  if (audio === undefined && modalities?.includes('audio') === true) {
    throw invalidValue('audio', 'An audio answer requires `audio` with `format` and `voice`.')
  }
  return call
}

/** Requires exactly one of slug and URL: anything else is ambiguous. */
function checkToolServers (servers: Exclude<ChatInput['mcp_servers'], string | undefined>): void {
  const faults = [servers].flat().flatMap((server, index) => {
    if (typeof server === 'string' || isGiven(server.slug) !== isGiven(server.url)) return []
    return [{
      loc: ['body', 'mcp_servers', ...(Array.isArray(servers) ? [index] : [])],
      msg: 'Value error, give exactly one of slug and url',
      type: 'value_error'
    }]
  })
  if (faults.length > 0) throw new ValidationError(faults.slice(0, 20))
}

function isGiven (name: string | null | undefined): boolean {
  return name !== undefined && name !== null
}
