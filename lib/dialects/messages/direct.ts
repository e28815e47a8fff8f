/** Requests for providers that speak this dialect: the caller's own text, changed as little as possible. */

import { markPrompt } from '../../chat/cache-marks.ts'
import { toReasoningItem } from '../../chat/reasoning-item.ts'
import { spliceStrings } from '../../json/splice-strings.ts'
import { callerText, directBody, withoutOptions } from '../direct-body.ts'
import { isPacked } from '../../json/packed-fields.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { RoutedCall } from '../../core/call.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { Route } from '../../core/route.ts'
import type {
  CountTokensRequest,
  MessagesMessage,
  MessagesRequest
} from '../../../schemas/messages-request.ts'
import type { FitTarget } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

export function directRequest (
  call: RoutedCall<ChatInput>,
  { route, quirks }: Pick<FitTarget, 'route' | 'quirks'>,
  context: MessagesContext
): DirectRequest {
  const { request, direct } = context
  const values = replacedFields(call.request, route, request, quirks?.unsignedThinking === true)
  const marked = withMarks(callerText(call, request), request, values, route)
  direct.routes.add(route)
  return {
    dialect: 'messages',
    body: directBody(marked.text, marked.request, values, call.media?.()),
    headers: sentHeaders(call),
    query: /(?:^|&)beta=true(?:&|$)/.test(call.query ?? '') ? 'beta=true' : ''
  }
}

/**
 * Adds cache marks if the route does so. Marks are spliced into the caller's text; replaced fields and
 * reordered tools are added to `values`.
 */
function withMarks (
  text: string | undefined,
  request: CountTokensRequest,
  values: Record<string, unknown>,
  { minMarkedTokens }: Route
): { readonly text: string | undefined, readonly request: CountTokensRequest } {
  if (minMarkedTokens === undefined || !('max_tokens' in request)) return { text, request }
  const isTrimmed = 'messages' in values
  const sent = { ...request, ...isTrimmed && { messages: values['messages'] as MessagesMessage[] } }
  const marked = markPrompt(sent, minMarkedTokens)
  const isReordered = marked.tools?.some(
    (tool, index) => tool !== request.tools?.[index] && !('cache_control' in tool)
  ) === true
  if (isTrimmed) values['messages'] = marked.messages
  if (isReordered) values['tools'] = marked.tools
  const spliced = {
    ...marked,
    ...isTrimmed && { messages: request.messages },
    ...isReordered && { tools: request.tools }
  }
  return { text: text === undefined ? undefined : spliceStrings(text, request, spliced), request: spliced }
}

function replacedFields (
  { max_completion_tokens: limit }: ChatInput,
  { model, settings = {} }: Route,
  request: CountTokensRequest,
  takesUnsigned: boolean
): Record<string, unknown> {
  const values: Record<string, unknown> = { model, ...withoutOptions }
  if ('max_tokens' in request && limit !== undefined && limit < (request as MessagesRequest).max_tokens) {
    values['max_tokens'] = limit
  }
  for (const name of settingNames) {
    if (settings[name] !== undefined && !(name in request)) values[name] = settings[name]
  }
  const messages = withoutForeignThinking(request.messages, takesUnsigned)
  if (messages !== request.messages) values['messages'] = messages
  return values
}

/** Route settings that are fields of this API too. */
const settingNames = ['temperature', 'top_p', 'top_k', 'thinking'] as const

/**
 * Removes thinking signed by another provider, such as before a fallback, because the provider would reject
 * the entire request. Messages without other content are removed too. Servers other than Anthropic's sign
 * nothing, and need their thinking back.
 */
function withoutForeignThinking (
  messages: readonly MessagesMessage[],
  takesUnsigned: boolean
): readonly MessagesMessage[] {
  if (
    !messages.some(
      ({ content }) => typeof content !== 'string' && content.some(block => isForeign(block, takesUnsigned))
    )
  ) {
    return messages
  }
  return messages.flatMap(message => {
    if (typeof message.content === 'string') return [message]
    const content = message.content.filter(block => !isForeign(block, takesUnsigned))
    return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content }]
  })
}

function isForeign (
  block: Exclude<MessagesMessage['content'], string>[number],
  takesUnsigned: boolean
): boolean {
  if (toReasoningItem(block) !== undefined) return true
  if (block.type !== 'thinking') return false
  const { signature } = block
  return typeof signature !== 'string' || signature === '' ? !takesUnsigned : isPacked(signature)
}

/** Headers allowed with the gateway's own credential. Others could select among its accounts. */
const harmlessHeaders: ReadonlySet<string> = new Set(['anthropic-version', 'anthropic-beta'])

function sentHeaders ({ headers, providerKey }: RoutedCall<ChatInput>): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (
      !name.startsWith('anthropic-') ||
      value === undefined ||
      (providerKey === undefined && !harmlessHeaders.has(name))
    ) {
      continue
    }
    sent[name] = [value].flat().join(',')
  }
  return sent
}
