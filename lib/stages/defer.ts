/**
 * Defers calls: the caller gets a receipt now, and fetches the completion later by its `request_id`.
 *
 * A provider that can defer does it itself. For other providers, if the operator allows it, the call is
 * stored and run by the gateway, unless it is too large to store. Otherwise the call is answered immediately,
 * as if `deferred` were not set.
 */

import { altersAnswer } from '../guards/text-guards.ts'
import { GatewayError, unsupportedParameter } from '../core/errors.ts'
import { digest, type DeferredTicket } from '../deferred/sealed-tickets.ts'
import { credentialDigest } from '../deferred/open-ticket.ts'
import { offersFunctionsOnly } from '../chat/legacy-functions.ts'
import { printText } from '../json/print-in-slices.ts'
import { collect, once } from '../pipeline/sources.ts'
import { map, pass, type Stage } from '../pipeline/stage.ts'
import { toCompletion } from '../dialects/chat-completions/complete.ts'
import type { Route } from '../core/route.ts'
import { copyCall, type Batch } from '../core/call.ts'
import { attributionIn } from '../core/call-attribution.ts'
import type { ResultEvent } from '../core/events.ts'
import type { DeferredTask } from '../deferred/answer-task.ts'
import type { Deferrals } from '../deferred/deferrals.ts'
import type { DeferralResult, Provider } from '../providers/provider.ts'
import type { ChatInput, RoutedChatCall } from '../chat/input.ts'
import type { ChatBatch } from '../dialects/dialect.ts'
import type { Services } from '../services.ts'
import { EarlyReply, nowSeconds, toJsonReply } from '../core/reply.ts'
import { costOfJudged, costOfWasted } from '../usage/call-cost.ts'

/**
 * Defers a call: one in, the same call out, unless it is deferred.
 *
 * @param askProvider has a provider defer the call
 * @param finish turns an immediate answer of a provider into one of the gateway
 * @throws EarlyReply with the receipt of a deferred call
 * @throws GatewayError `unsupported_parameter` for deferred calls with `stream`, with tool servers (their
 *   credentials would have to be stored) and, where the gateway runs them, with the caller's own provider
 *   key; `overloaded` when too many calls wait; `insufficient_quota` when too much is stored for the key
 */
export function defer (
  services: DeferServices,
  askProvider: AskProvider,
  finish: Stage<ChatBatch>
): Stage<RoutedChatCall> {
  const { deferrals } = services
  if (deferrals === undefined) return pass
  return map(call =>
    call.request.deferred === true ? deferOrPass(call, deferrals, services, { askProvider, finish }) : call
  )
}

type DeferServices = Pick<Services, 'deferrals' | 'providers' | 'settings' | 'textGuards'>
/** Has a provider defer a call: returns its receipt, or the answer. */
type AskProvider = Stage<RoutedChatCall, Batch<ChatInput, ResultEvent<DeferralResult>>>

interface DeferStages {
  readonly askProvider: AskProvider
  readonly finish: Stage<ChatBatch>
}

async function deferOrPass (
  call: RoutedChatCall,
  deferrals: Deferrals,
  services: DeferServices,
  stages: DeferStages
): Promise<RoutedChatCall> {
  const { settings: { deferred, limits } } = services
  const routes = deferringRoutes(call, services)
  const canStore = deferred.forAllProviders && call.record.request.bodyBytes <= limits.storedBodyBytes
  if (routes === undefined && !canStore) return call
  refuseUnsupported(call.request)
  await checkStoredBytes(call, deferrals, deferred.maxBytesPerKey)
  call.record.request.isDeferred = true
  throw routes === undefined
    ? acceptedReply(await storeTask(call, deferrals, deferred), call.routes[0].modelId)
    : await replyOfProvider(copyCall(call, { routes }), deferrals, services, stages)
}

/** Returns the routes whose providers can defer the call; `undefined` if the first one's cannot. */
function deferringRoutes (
  call: RoutedChatCall,
  { providers, textGuards }: DeferServices
): RoutedChatCall['routes'] | undefined {
  const [first, ...others] = call.routes
  const canDefer = ({ providerId }: Route): boolean =>
    providers.get(providerId)?.adapters.deferred !== undefined
  // An answer deferred by the provider would reach the caller without passing the guards.
  if (!canDefer(first) || (textGuards !== undefined && altersAnswer(textGuards, call))) return undefined
  return [first, ...others.filter(canDefer)]
}

/** Has a provider defer the call: returns a receipt, or the answer of a provider that gives it at once. */
async function replyOfProvider (
  call: RoutedChatCall,
  { tickets }: Deferrals,
  { providers }: DeferServices,
  { askProvider, finish }: DeferStages
): Promise<EarlyReply> {
  for await (const { route, events } of askProvider(once(call))) {
    const [event] = events
    const provider = providers.get(route.providerId)
    if (event === undefined || provider === undefined) continue
    return typeof event.result === 'string'
      ? acceptedReply(tickets.seal(ticketOf(call, route, provider, event.result)), route.modelId)
      : await completionAtOnce({ call, route, events: event.result.completion }, finish)
  }
  throw new GatewayError('upstream_invalid_response', { cause: 'the response has no request_id' })
}

/** Answers as if `deferred` were not set. */
async function completionAtOnce (answer: ChatBatch, finish: Stage<ChatBatch>): Promise<EarlyReply> {
  answer.call.record.request.isDeferred = undefined
  return new EarlyReply(toJsonReply(toCompletion(await collect(finish(once(answer))))))
}

/**
 * Refuses a call whose key has too much stored: before its provider is called, since a paid answer is always
 * stored.
 */
async function checkStoredBytes (
  { key }: RoutedChatCall,
  { store }: Deferrals,
  maxBytes: number
): Promise<void> {
  if (await store.keptBytes(key.id) < maxBytes) return
  throw new GatewayError('insufficient_quota', {
    status: 429,
    message: `The deferred completions kept for this key take ${maxBytes} bytes or more. Space becomes available when the oldest expire.`
  })
}

/**
 * Charges the call the reserved amount until the answer is fetched: the provider generates it in any case.
 */
function ticketOf (
  call: RoutedChatCall,
  { providerId, model, modelId }: Route,
  provider: Provider,
  upstreamId: string
): DeferredTicket {
  const {
    cost: { reservedNanoUsd, models },
    caller: { endUser, parties, digestEndUser },
    usage: { judgeRequests = [] }
  } = call.record
  call.record.cost.chargedNanoUsd = reservedNanoUsd
  // The answer replaces its own part of the charge, not what guards and failed attempts have cost.
  const extraNanoUsd =
    models === undefined ? 0 : costOfJudged(judgeRequests, models) + costOfWasted(call.record, models)
  const chargedNanoUsd = reservedNanoUsd && Math.max(0, reservedNanoUsd - extraNanoUsd)
  call.record.cost.replaceableNanoUsd = chargedNanoUsd
  return {
    key: call.key.id,
    createdSeconds: nowSeconds(),
    modelId,
    ...endUser !== undefined && { endUser, hashed: digestEndUser !== undefined },
    ...parties !== undefined && { parties },
    upstream: {
      providerId,
      model,
      upstreamId,
      credential: credentialDigest(provider, call.providerKey),
      ...chargedNanoUsd !== undefined && { chargedNanoUsd },
      legacy: offersFunctionsOnly(call.request)
    }
  }
}

async function storeTask (
  { id, key, request, requestedGuards, requestedNames, routes, providerKey, record }: RoutedChatCall,
  { tickets, store, events }: Deferrals,
  { keepMs, maxPending }: Services['settings']['deferred']
): Promise<string> {
  if (providerKey !== undefined) {
    throw unsupportedParameter('deferred', 'Calls with `X-Provider-Key` cannot be deferred: the key is not stored.')
  }
  const requestId = tickets.seal({ key: key.id, createdSeconds: nowSeconds(), modelId: routes[0].modelId })
  const { deferred: _, credentials: _credentials, ...rest } = request
  const attribution = attributionIn(record.caller)
  const task: DeferredTask = {
    id,
    key,
    request: rest,
    requestedStages: requestedGuards,
    requestedNames,
    routes,
    attribution,
    placeholders: record.guards.placeholders?.sealed()
  }
  const text = await printText(task)
  const added = await store.add(
    { id: digest(requestId), keyId: key.id, endUser: record.caller.endUser, task: text },
    store.now() + keepMs,
    maxPending
  )
  if (!added) {
    throw new GatewayError('overloaded', {
      message: 'Too many deferred calls are pending. Try again later.'
    })
  }
  events.emit('added')
  return requestId
}

function refuseUnsupported ({ stream, mcp_servers: servers }: ChatInput): void {
  if (stream === true) throw unsupportedParameter('stream', 'A deferred completion cannot be streamed.')
  if (servers !== undefined && [servers].flat().length > 0) {
    throw unsupportedParameter('mcp_servers', 'A deferred completion cannot use tools on the server.')
  }
}

/** Returns a completion without choices, which clients of completions can read. */
function acceptedReply (requestId: string, model: string): EarlyReply {
  return new EarlyReply(toJsonReply({
    id: requestId, object: 'chat.completion', created: nowSeconds(), model, choices: [], request_id: requestId
  }))
}
