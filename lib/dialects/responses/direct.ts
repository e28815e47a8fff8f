/** Requests for providers that speak this dialect: the caller's own text, changed as little as possible. */

import { objectsOf } from '../../json/type-guards.ts'
import { callerText, directBody, withoutOptions } from '../direct-body.ts'
import { sentItems, type SentItems } from './sent-items.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ProviderAccount, RoutedCall } from '../../core/call.ts'
import type { DirectRequest } from '../../core/direct-request.ts'
import type { ProviderTraits } from '../../core/provider-traits.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'
import type { FitTarget } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'

type Target = Pick<FitTarget, 'route' | 'provider' | 'model' | 'account'>

/** @returns `undefined` if the gateway calls the tool servers of the request */
export function directRequest (
  call: RoutedCall<ChatInput>,
  target: Target,
  context: ResponsesContext
): DirectRequest | undefined {
  const { request, items } = context
  if (call.request.mcp_servers !== undefined || namesServers(request, items)) return undefined
  return passedOn(call, target, context, replacedFields(call, target, context))
}

/** Creates the request for compaction. It gives no answer, so it has no limits, tools or settings. */
export function compactRequest (
  call: RoutedCall<ChatInput>,
  target: Target,
  context: ResponsesContext
): DirectRequest {
  return { ...passedOn(call, target, context, ownFields), action: 'compact' }
}

function passedOn (
  call: RoutedCall<ChatInput>,
  target: Target,
  context: ResponsesContext,
  values: Readonly<Record<string, unknown>>
): DirectRequest {
  const { request, direct } = context
  direct.accounts.set(target.route, target.account)
  const { items, callerParam, previousId } = conversationFor(target, context)
  const sent = {
    ...values,
    model: target.route.model,
    ...context.stored.continuation !== undefined && { previous_response_id: previousId },
    ...items !== undefined && { input: items }
  }
  return {
    dialect: 'responses',
    body: directBody(callerText(call, request), request, sent, call.media?.()),
    headers: sentHeaders(call),
    query: '',
    ...callerParam !== undefined && { callerParam }
  }
}

function namesServers ({ tools }: ResponsesRequest, items: ResponsesContext['items']): boolean {
  return hasServer(tools) || items.some(item => 'tools' in item && hasServer(item.tools))
}

function hasServer (tools: unknown): boolean {
  return tools !== undefined && objectsOf(tools).some(({ type }) => type === 'mcp')
}

/** Request fields for the gateway. */
const ownFields = {
  mcp_servers: undefined,
  credentials: undefined,
  max_turns: undefined,
  model_attributes: undefined,
  agent_attributes: undefined,
  background: undefined,
  ...withoutOptions
}

/** Returns replacements for the caller's fields; `undefined` removes a field. */
function replacedFields (
  call: RoutedCall<ChatInput>,
  target: Target,
  context: ResponsesContext
): Record<string, unknown> {
  const { request } = context
  const { max_completion_tokens: limit } = call.request
  const values: Record<string, unknown> = Object.assign({}, ownFields)
  if (target.route.settings !== undefined) Object.assign(values, settingsOf(target.route.settings, request))
  if (limit !== undefined && limit !== request.max_output_tokens) values['max_output_tokens'] = limit
  return Object.assign(values, storeFields(call, target, context))
}

/** Returns the parts of the conversation that are not stored at the provider, and the id of what is. */
function conversationFor (
  { route, provider, account }: Target,
  context: ResponsesContext
): Partial<SentItems> & { readonly previousId: string | undefined } {
  const origin = context.stored.continuation?.origin
  const isHere = (origin: ProviderAccount): boolean =>
    origin.providerId === route.providerId && origin.account === account()
  return {
    ...sentItems(context, { isHere, account, labelsReasoning: labelsReasoning(provider) }),
    previousId: origin !== undefined && isHere(origin) ? origin.responseId : undefined
  }
}

/** Returns true for a provider that takes reasoning only in the form that it encrypted or stored. */
function labelsReasoning ({ historyMarks }: ProviderTraits): boolean {
  return historyMarks?.includes('reasoning_item') === true
}

/**
 * Disables storage at the provider unless the gateway stores the response: the caller could not access it
 * otherwise. Reasoning that is not stored must be returned in encrypted form.
 */
function storeFields (
  { providerKey }: RoutedCall<ChatInput>,
  { model }: Target,
  { request, keep }: ResponsesContext
): Record<string, unknown> {
  if (keep !== undefined || request.store === false || providerKey !== undefined) return {}
  const { include = [] } = request
  const state = 'reasoning.encrypted_content'
  return {
    store: false,
    ...model?.capabilities['thinking'] === true &&
      !include.includes(state) && { include: [...include, state] }
  }
}

/** Returns route settings under this dialect's names, except those that the request sets. */
function settingsOf (
  settings: Readonly<Record<string, unknown>>,
  request: ResponsesRequest
): Record<string, unknown> {
  const {
    reasoning_effort: effort,
    verbosity,
    max_tokens: legacy,
    max_completion_tokens: limit = legacy
  } = settings
  const values: Record<string, unknown> = {}
  for (const name of [
    'temperature',
    'top_p',
    'top_logprobs',
    'service_tier',
    'parallel_tool_calls',
    'metadata'
  ] as const) {
    if (settings[name] !== undefined && request[name] === undefined) values[name] = settings[name]
  }
  if (limit !== undefined && request.max_output_tokens === undefined) values['max_output_tokens'] = limit
  if (effort !== undefined && request.reasoning?.effort == null) {
    values['reasoning'] = { ...request.reasoning, effort }
  }
  if (verbosity !== undefined && request.text?.verbosity == null) {
    values['text'] = { ...request.text, verbosity }
  }
  return values
}

/** Headers allowed with the gateway's own credential. Others could select among its accounts. */
const harmlessHeaders: ReadonlySet<string> = new Set(['openai-beta', 'x-openai-subagent'])

function sentHeaders ({ headers, providerKey }: RoutedCall<ChatInput>): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || !(name.startsWith('openai-') || name.startsWith('x-openai-'))) continue
    if (providerKey === undefined && !harmlessHeaders.has(name)) continue
    sent[name] = [value].flat().join(',')
  }
  return sent
}
