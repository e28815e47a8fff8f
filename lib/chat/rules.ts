/**
 * Rules of a chat request that compare fields with each other, which no schema can say and every
 * provider would answer in its own words.
 *
 * Not here: what only some providers restrict, such as names of tools, ids of tool calls, budgets
 * of thinking and `response_format`: their adapters know, and the others ignore it.
 */

import { GatewayError, ValidationError } from '../core/errors.ts'
import type { ChatCall, ChatInput } from './input.ts'

/**
 * Lets a call through unchanged when its fields agree with each other.
 *
 * @throws GatewayError `invalid_value` (400) with the parameter at fault.
 * @throws ValidationError (422) for a tool server that is not named in exactly one way.
 */
export function checkChatRules (call: ChatCall): ChatCall {
  const { mcp_servers: servers, logprobs, top_logprobs: top, modalities, audio } = call.request
  if (servers !== undefined && typeof servers !== 'string') checkToolServers(servers)
  // Alternatives belong to the log probability of a token.
  if (top !== undefined && logprobs !== true) {
    throw refused('top_logprobs', '`top_logprobs` requires `logprobs` to be true.')
  }
  // The voice and the format of an audio answer cannot be guessed.
  if (audio === undefined && modalities?.includes('audio') === true) {
    throw refused('audio', 'An audio answer requires `audio` with `format` and `voice`.')
  }
  return call
}

/** Requires exactly one of slug and URL: with both or neither, the server would be a guess. */
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

function refused (param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', { param, message })
}
