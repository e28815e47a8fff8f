/**
 * Rules of a chat request that compare fields with each other, which no schema can say and every
 * provider would answer in its own words.
 *
 * Not here: what only some providers restrict, such as names of tools, ids of tool calls, budgets
 * of thinking and `response_format`: their adapters know, and the others ignore it.
 */

import { GatewayError, ValidationError } from '../core/errors.ts'
import { tooLong } from '../validation/too-long.ts'
import type { ChatCall, ChatInput } from './input.ts'
import type { ChatRequest } from '../../schemas/chat.ts'
import type { ValidCall } from '../core/call.ts'

/** Bounds of one request. */
export interface ChatSizes {
  readonly chatMessages: number
  readonly chatParts: number
  readonly chatTools: number
}

/**
 * Makes a check that lets a call through unchanged when its lists are within the bounds.
 *
 * @throws ValidationError (422) with the list that is too long
 */
export function chatSizes ({ chatMessages, chatParts, chatTools }: ChatSizes): (call: ValidCall<ChatRequest>) => ValidCall<ChatRequest> {
  return call => {
    const { messages, input, tools = [], functions = [] } = call.request
    checkMessages('messages', messages)
    checkMessages('input', input)
    if (tools.length > chatTools) throw tooLong(['tools'], tools.length, chatTools)
    if (functions.length > chatTools) throw tooLong(['functions'], functions.length, chatTools)
    return call
  }

  function checkMessages (field: string, messages: ChatRequest['messages']): void {
    if (!Array.isArray(messages)) return
    if (messages.length > chatMessages) throw tooLong([field], messages.length, chatMessages)
    let parts = 0
    for (const [index, { content }] of messages.entries()) {
      if (!Array.isArray(content)) continue
      parts += content.length
      if (parts > chatParts) throw tooLong([field, index, 'content'], parts, chatParts)
    }
  }
}

/**
 * Lets a call through unchanged when its fields agree with each other.
 *
 * @throws GatewayError `invalid_value` (400) with the parameter at fault.
 * @throws ValidationError (422) for a tool server that is not named in exactly one way.
 */
export function checkChatRules (call: ChatCall): ChatCall {
  const { request } = call
  checkToolServers(request)
  checkLogprobs(request)
  checkAudio(request)
  return call
}

/** Two names may mean two servers, and none means none: either way we would be guessing. */
function checkToolServers ({ mcp_servers: servers }: ChatInput): void {
  if (servers === undefined || typeof servers === 'string') return
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

/** Alternatives are listed at the log probability of a token, which is not asked for. */
function checkLogprobs ({ logprobs, top_logprobs: top }: ChatInput): void {
  if (top !== undefined && logprobs !== true) {
    throw refused('top_logprobs', '`top_logprobs` requires `logprobs` to be true.')
  }
}

/** Requires the voice and the format of an audio answer, which cannot be guessed. */
function checkAudio ({ modalities, audio }: ChatInput): void {
  if (audio === undefined && modalities?.includes('audio') === true) {
    throw refused('audio', 'An audio answer requires `audio` with `format` and `voice`.')
  }
}

function isGiven (name: string | null | undefined): boolean {
  return name !== undefined && name !== null
}

function refused (param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', { param, message })
}
