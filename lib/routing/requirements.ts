/**
 * Reads from a chat request what its model must support, and skips candidates that are known not to. Unknown
 * capabilities count as supported, and a model without an alternative is never skipped.
 */

import { splitContent, toReasoningItem } from '../chat/reasoning-item.ts'
import { thoughtSignature } from '../chat/thought-signature.ts'
import { estimateChat } from '../limits/estimate-chat.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ProviderAccount } from '../core/call.ts'
import type { UnusedRoute } from '../core/record.ts'
import type { ModelEntry } from '../core/model.ts'
import type { HistoryMark } from '../core/provider-traits.ts'
import type { Route } from '../core/route.ts'

/** Catalogue capabilities that a request can need. */
export type NeededCapability = 'vision' | 'tools' | 'audio' | 'structured_output'

export interface Requirements {
  readonly capabilities: ReadonlySet<NeededCapability>
  /** An estimate; absent if every model is large enough. */
  readonly promptTokens?: number
  /** Parts of the history that only a provider of their kind can verify or continue. */
  readonly history: ReadonlySet<HistoryMark>
  /** Digest of the account that encrypted the last reasoning, if known. */
  readonly account?: string
  /** Ids of tool calls in the history. */
  readonly toolCallIds: readonly string[]
}

/** Reads the requirements of a chat request, in one pass over its messages. */
export function chatRequirements (request: ChatInput): Requirements {
  const capabilities = new Set<NeededCapability>()
  const history = new Set<HistoryMark>()
  const toolCallIds: string[] = []
  let account: string | undefined
  const { tools = [], functions = [], mcp_servers: servers, modalities, response_format: format } = request
  if (tools.length > 0 || functions.length > 0 || servers !== undefined) capabilities.add('tools')
  if (modalities?.includes('audio') === true) capabilities.add('audio')
  if (format?.type === 'json_schema') capabilities.add('structured_output')
  for (const message of request.messages) {
    if (message.role === 'user' && typeof message.content !== 'string') {
      for (const { type } of message.content) {
        if (type === 'image_url') capabilities.add('vision')
        if (type === 'input_audio') capabilities.add('audio')
      }
    }
    if (message.role !== 'assistant') continue
    for (const block of message.thinking_blocks ?? []) {
      const reasoning = toReasoningItem(block)
      if (reasoning !== undefined) {
        history.add('reasoning_item')
        account = splitContent(reasoning.encrypted_content).account ?? account
      } else if (isSigned(block)) history.add('signed_thinking')
    }
    if (message.tool_calls?.some(call => thoughtSignature(call) !== undefined) === true) {
      history.add('thought_signature')
    }
    // The audio itself is stored at the provider.
    if (message.audio !== undefined && message.audio !== null) history.add('stored_audio')
    for (const { id } of message.tool_calls ?? []) toolCallIds.push(id)
  }
  return {
    capabilities,
    history,
    toolCallIds,
    promptTokens: estimateChat(request).prompt.typical,
    ...account !== undefined && { account }
  }
}

/** Anthropic signs its thinking, and encrypts hidden thinking. */
function isSigned ({ signature, type }: Readonly<Record<string, unknown>>): boolean {
  return typeof signature === 'string' || type === 'redacted_thinking'
}

/** The remaining candidates in order, and the skipped ones. */
export interface FilteredRoutes {
  readonly routes: readonly Route[]
  readonly skipped: readonly UnusedRoute[]
}

/** Skips routes with a disqualifying reason; skips none when all routes have one. */
export function skipUnfit (
  routes: readonly Route[], requirements: Requirements, find: (modelId: string) => ModelEntry | undefined
): FilteredRoutes {
  const filtered = splitBySuitability(routes, route => reasonUnsuitable(requirements, find(route.modelId)))
  return filtered.routes.length === 0 ? { routes, skipped: [] } : filtered
}

/** Splits routes by whether there is an objection. */
export function splitBySuitability (
  routes: readonly Route[],
  objection: (route: Route) => string | undefined
): FilteredRoutes {
  const left: Route[] = []
  const skipped: UnusedRoute[] = []
  for (const route of routes) {
    const reason = objection(route)
    if (reason === undefined) left.push(route)
    else skipped.push({ route, reason })
  }
  return { routes: left, skipped }
}

function reasonUnsuitable (
  { capabilities, promptTokens = 0 }: Requirements,
  model: ModelEntry | undefined
): string | undefined {
  if (model === undefined) return undefined
  for (const name of capabilities) if (model.capabilities[name] === false) return `lacks_${name}`
  const limit = model.capabilities['input_token_limit']
  return typeof limit === 'number' && promptTokens > limit ? 'prompt_too_long' : undefined
}

/** Looks up the providers that wrote a history. */
export interface HistoryOrigins {
  readonly marksOf: (providerId: string) => readonly HistoryMark[]
  /** Returns the digests of a provider's accounts. */
  readonly accountsOf: (providerId: string) => readonly string[]
  /** Returns the provider of a tool call, if it was made here recently. */
  readonly providerOf: (toolCallId: string) => string | undefined
}

/**
 * Moves the providers to the front to which the history is bound: the account that encrypted its reasoning,
 * else the providers of its tool calls, else the kind that signed or stored parts of it. Otherwise keeps the
 * order.
 */
export function preferHistoryOrigin (
  routes: readonly Route[],
  { history, toolCallIds, account }: Requirements,
  { marksOf, accountsOf, providerOf }: HistoryOrigins
): readonly Route[] {
  const readers = account === undefined
    ? []
    : routes.filter(({ providerId }) => accountsOf(providerId).includes(account))
  if (readers.length > 0) return writersFirst(routes, route => readers.includes(route))
  const makers = new Set(toolCallIds.map(providerOf))
  const hasMaker = routes.some(({ providerId }) => makers.has(providerId))
  if (!hasMaker && history.size === 0) return routes
  return writersFirst(routes, ({ providerId }) =>
    hasMaker ? makers.has(providerId) : marksOf(providerId).some(mark => history.has(mark))
  )
}

/**
 * Moves the routes of the provider that stores what a call continues to the front. Otherwise keeps the order.
 */
export function originFirst (routes: readonly Route[], origin: ProviderAccount): readonly Route[] {
  return writersFirst(routes, ({ providerId }) => providerId === origin.providerId)
}

function writersFirst (routes: readonly Route[], isWriter: (route: Route) => boolean): readonly Route[] {
  const wrote = routes.map(isWriter)
  if (!wrote.includes(true) || !wrote.includes(false)) return routes
  return [
    ...routes
      .filter((_, index) => wrote[index])
      .map((route): Route => ({ ...route, preferred: 'wrote_history' })),
    ...routes.filter((_, index) => !wrote[index])
  ]
}
