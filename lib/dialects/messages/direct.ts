/** Requests for providers that speak this dialect themselves: the caller's own text, with as little of it replaced as correctness allows. */

import { toReasoningItem } from '../../chat/reasoning-item.ts'
import { GatewayError } from '../../core/errors.ts'
import { objectsOf } from '../../json/guards.ts'
import { namesField } from '../../json/names-field.ts'
import { callerText, directBody } from '../direct-body.ts'
import { isSealed } from './signature.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { RoutedCall } from '../../core/call.ts'
import type { DirectRequest, DirectScope } from '../../core/direct-request.ts'
import type { Route } from '../../core/route.ts'
import type { CountTokensRequest, MessagesMessage, MessagesRequest } from '../../../schemas/messages-request.ts'
import type { FitTarget } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

/** @throws GatewayError `insufficient_permissions` for what this caller may not ask this provider */
export function directRequest (call: RoutedCall<ChatInput>, { route }: Pick<FitTarget, 'route'>, context: MessagesContext): DirectRequest {
  const { request, direct } = context
  const text = callerText(call, request)
  checkStoredObjects(call, request, text)
  direct.routes.add(route)
  return {
    dialect: 'messages',
    body: directBody(text, request, replacedFields(call.request, route, request), call.media?.()),
    headers: sentHeaders(call),
    query: /(?:^|&)beta=true(?:&|$)/.test(call.query ?? '') ? 'beta=true' : ''
  }
}

/** Returns the fields that are sent in place of the caller's. */
function replacedFields ({ max_completion_tokens: limit }: ChatInput, { model, settings = {} }: Route, request: CountTokensRequest): Record<string, unknown> {
  const values: Record<string, unknown> = { model }
  if ('max_tokens' in request && limit !== undefined && limit < (request as MessagesRequest).max_tokens) values['max_tokens'] = limit
  for (const name of settingNames) if (settings[name] !== undefined && !(name in request)) values[name] = settings[name]
  const messages = withoutForeignThinking(request.messages)
  if (messages !== request.messages) values['messages'] = messages
  return values
}

/** Settings of a route that are fields of this API as well. */
const settingNames = ['temperature', 'top_p', 'top_k', 'thinking'] as const

/**
 * Takes out thinking that this provider has not signed, of another one before a fallback: it would refuse all of the
 * request. A message that has nothing else goes with it.
 */
function withoutForeignThinking (messages: readonly MessagesMessage[]): readonly MessagesMessage[] {
  if (!messages.some(({ content }) => typeof content !== 'string' && content.some(isForeign))) return messages
  return messages.flatMap(message => {
    if (typeof message.content === 'string') return [message]
    const content = message.content.filter(block => !isForeign(block))
    return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content }]
  })
}

function isForeign (block: Exclude<MessagesMessage['content'], string>[number]): boolean {
  if (toReasoningItem(block) !== undefined) return true
  if (block.type !== 'thinking') return false
  const { signature } = block
  return typeof signature !== 'string' || signature === '' || isSealed(signature)
}

/** Headers by which a caller would choose among the accounts of the gateway's own credential. */
const accountHeader = /^anthropic-(?:organization|workspace|dangerous)/

function sentHeaders ({ headers, providerKey }: RoutedCall<ChatInput>): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (!name.startsWith('anthropic-') || value === undefined || (providerKey === undefined && accountHeader.test(name))) continue
    sent[name] = [value].flat().join(',')
  }
  return sent
}

/**
 * Refuses what is stored in the provider's account: all keys of the gateway share it, so each could reach what belongs
 * to another. A caller with an account of their own may do with it as they like.
 */
function checkStoredObjects ({ key, providerKey }: RoutedCall<ChatInput>, request: CountTokensRequest, text: string | undefined): void {
  if (providerKey !== undefined || key.providerObjects === true) return
  const { container } = request as MessagesRequest // absent from a count
  if (container === undefined && text !== undefined && !mayNameFiles(text) && request.thread === undefined) return
  const param = request.thread !== undefined ? 'thread' : container !== undefined ? 'container' : namesField([request.messages, request.system, request.tools], fileFields, argumentFields) !== undefined ? 'file_id' : undefined
  if (param === undefined) return
  throw new GatewayError('insufficient_permissions', {
    message: `${param}: this API key may not use files, containers and threads of the gateway's account at the provider. ` +
      'Send files in base64, or your own key in X-Provider-Key.',
    param
  })
}

/** A quick look before the search: keys may also be written with escapes. */
function mayNameFiles (text: string): boolean {
  return /file_id|\\u00/i.test(text)
}

const fileFields: ReadonlySet<string> = new Set(['file_id'])
/** Arguments of tools and their schemas may name anything. */
const argumentFields: ReadonlySet<string> = new Set(['input', 'input_schema'])

/**
 * Fields that multiply the price of all tokens, with the values that do not.
 *
 * @see https://platform.claude.com/docs/en/about-claude/pricing
 */
const priceFields = [['speed', 'standard'], ['inference_geo', 'global']] as const

/** Returns the models of tools and fallbacks, whether the provider's own connector to tool servers is used, and what has no price. */
export function directScope ({ request }: MessagesContext): DirectScope {
  const named: unknown[] = [Reflect.get(request, 'fallbacks'), request.tools] // of no schema here
  return {
    models: named.flatMap(list => objectsOf(list)).flatMap(({ model }) => typeof model === 'string' ? [model] : []),
    toolServers: (request.mcp_servers?.length ?? 0) > 0,
    unpriced: priceFields.find(([name, usual]) => ![undefined, null, usual].includes(Reflect.get(request, name)))?.[0]
  }
}
