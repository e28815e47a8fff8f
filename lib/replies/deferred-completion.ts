/**
 * Fetches a deferred completion.
 *
 * A provider hands it out exactly once, so what is fetched is kept before it is given to the
 * caller, whose own reads may be repeated. That a fetch begins is noted first: should the process
 * die in it, the next one either gets the completion or knows that it is lost.
 */

import { noteError } from '../core/record.ts'
import { GatewayError } from '../core/errors.ts'
import { extend, type AuthedCall, type RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { Secret } from '../core/secret.ts'
import type { DeferredTicket } from '../deferred/sealed-tickets.ts'
import { toCompletion } from '../dialects/chat-completions/complete.ts'
import { chain, once, type Sink } from '../core/stage.ts'
import { onCall } from './on-call.ts'
import { recordUsage } from '../stages/record-usage.ts'
import { credentialDigest, notFound, openTicket } from '../deferred/open-ticket.ts'
import { ProviderFailure, callerError } from '../providers/provider-failure.ts'
import { normalise } from '../stages/normalise.ts'
import { readErrorBody } from '../upstream/error-body.ts'
import { parseResponse, readOrRefuse } from '../upstream/read-response.ts'
import { ownProviderKey } from '../routing/provider-choice.ts'
import type { Batch } from '../core/batch.ts'
import type { StoredAnswer } from '../deferred/deferred-store.ts'
import type { Deferrals } from '../deferred/deferrals.ts'
import type { ChatEvent } from '../core/events.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Provider, UpstreamResponse } from '../providers/provider.ts'
import { jsonHeaders, type Reply } from '../core/reply.ts'
import type { Services } from '../services.ts'

/** A fetch is a short request; one that is not over by then has died with its process. */
const leaseMs = 120_000
const fetchTimeouts = { connectMs: 10_000, firstByteMs: 30_000, responseMs: 30_000, idleBytesMs: 10_000, idleEventsMs: 10_000 }

const maxChoices = 128

/** One fetch at a provider. */
interface Fetch {
  readonly call: AuthedCall
  readonly ticket: DeferredTicket
  readonly upstream: NonNullable<DeferredTicket['upstream']>
  readonly provider: Provider
  readonly callerKey: Secret | undefined
  /** Its id in the store. */
  readonly id: string
  /** Another fetch began and it is not known how it went. */
  readonly isRetry: boolean
}

/**
 * Answers 200 with the completion, 202 while it is not there, and as the call itself would have
 * been answered when it failed.
 *
 * 502 `deferred_result_lost` says that the provider has handed it out and it did not arrive.
 *
 * @throws GatewayError `deferred_completion_not_found` for an id that is unknown, expired or
 *   another key's, and whatever keeps the provider from saying
 */
export function deferredCompletion (
  { deferrals, providers, settings }: Pick<Services, 'deferrals' | 'providers' | 'settings'>
): Sink<AuthedCall, Reply> {
  const { keepMs } = settings.deferred
  return onCall(async call => {
    if (deferrals === undefined) throw notFound()
    const { store, owner } = deferrals
    const { id, ticket } = openTicket(call, deferrals, keepMs)
    const kept = await store.find(id, Date.now())
    if (kept !== undefined && kept.state === 'done') {
      const reply = storedReply(kept)
      if (reply.status >= 400) call.record.outcome = 'error'
      return reply
    }
    const { upstream } = ticket
    if (upstream === undefined) {
      if (kept === undefined) throw notFound()
      return pending(call)
    }
    const callerKey = ownProviderKey(call.headers)
    const provider = providers.get(upstream.providerId)
    if (callerKey !== undefined) call.record.ownProviderKey = true
    if (provider?.adapters.deferred === undefined || credentialDigest(provider, callerKey) !== upstream.credential) throw notFound()

    const nowMs = Date.now()
    const claim = await store.claim({ id, keyId: call.key.id }, { owner, untilMs: nowMs + leaseMs }, ticket.createdSeconds * 1000 + keepMs, nowMs)
    // Another process works on it, or has just finished it: the caller asks again.
    if (claim === undefined) return pending(call)
    const fetch: Fetch = { call, ticket, upstream, provider, callerKey, id, isRetry: claim === 'again' }
    return await fetchOnce(fetch, deferrals, settings)
  })
}

async function fetchOnce (fetch: Fetch, { store, owner }: Deferrals, { deferred, limits }: Services['settings']): Promise<Reply> {
  const { call, ticket, id, isRetry, provider, callerKey } = fetch
  const keep = async (answer: StoredAnswer): Promise<Reply> => {
    await store.finish(id, owner, answer, ticket.createdSeconds * 1000 + deferred.keepMs)
    return storedReply(answer)
  }
  const gone = async (): Promise<Reply> => {
    if (isRetry) return await fail(new GatewayError('deferred_result_lost'), call, keep)
    await store.forget(id, owner)
    throw notFound()
  }
  const answer = await send(fetch).catch(async (error: unknown) => {
    await store.release(id, owner)
    throw error
  })
  if (answer.status === 202) {
    answer.body.cancel()
    await (isRetry ? store.release(id, owner) : store.forget(id, owner))
    return pending(call)
  }
  if (answer.status >= 200 && answer.status < 300) {
    let bytes: Buffer
    try {
      bytes = await answer.body.buffer(limits.answerBytes)
    } catch (cause) {
      return await fail(new GatewayError('deferred_result_lost', { cause }), call, keep)
    }
    let completion: StoredAnswer
    try {
      completion = { status: 200, body: JSON.stringify(await completionOf(fetch, bytes)) }
    } catch (error) {
      // xAI says so under status 200 as well.
      if (error instanceof ProviderFailure && error.failure.kind === 'model') return await gone()
      return await fail(callerError(error, provider.secrets, callerKey), call, keep)
    }
    return await keep(completion).catch((error: unknown) => {
      call.record.cause = error
      return storedReply(completion) // the provider does not hand it out again
    })
  }
  const body = await readErrorBody(answer)
  if (isGone(answer.status, body)) return await gone()
  const failure = errorOf(fetch, answer, body)
  if (failure.fault === 'caller') return await fail(failure, call, keep)
  await (isRetry || failure.fault === 'transient' ? store.release(id, owner) : store.forget(id, owner))
  throw failure
}

/** Sends it, but not on the caller's signal: a caller who leaves now may come back for it. */
async function send ({ provider, upstream, callerKey, call }: Fetch): Promise<UpstreamResponse> {
  const { deferred } = provider.adapters
  if (deferred === undefined) throw notFound()
  call.record.attempts++
  call.record.providerId = provider.id
  const sentAtMs = performance.now()
  try {
    return await provider.transport.send(deferred.fetch(upstream.upstreamId), {
      signal: new AbortController().signal,
      credential: provider.authorize(callerKey?.reveal()),
      timeouts: fetchTimeouts,
      streamed: false
    })
  } finally {
    call.record.upstreamWaitMs += performance.now() - sentAtMs
  }
}

const normaliseAnswer = chain<Batch<ChatInput, ChatEvent>, Batch<ChatInput, ChatEvent>, Batch<ChatInput, ChatEvent>>(recordUsage(), normalise())

/** Makes the answer one of ours, through the same steps as any other. */
async function completionOf ({ call, ticket, upstream, provider }: Fetch, bytes: Buffer): Promise<unknown> {
  const { adapters: { chat }, quirks } = provider
  if (chat === undefined) throw notFound()
  const route: Route = { providerId: upstream.providerId, model: upstream.model, modelId: ticket.modelId }
  const request: ChatInput = {
    model: route.modelId,
    messages: [],
    // All that the form of the answer depends on: how many choices were requested is not kept.
    n: maxChoices,
    ...(upstream.legacy ? { functions: [{ name: 'any' }] } : {})
  }
  const reader = chat.read({ status: 200, headers: {} }, { request, route, quirks, streamed: false })
  if (reader.as !== 'json') throw new TypeError('a complete chat response is JSON')
  const events = readOrRefuse(() => reader.read(parseResponse(bytes.toString())))
  const routed: RoutedCall<ChatInput> = extend(call, { request, routes: [route] as const })
  const batches: Array<Batch<ChatInput, ChatEvent>> = []
  for await (const batch of normaliseAnswer(once({ call: routed, route, events }))) batches.push(batch)
  return toCompletion(batches)
}

function errorOf ({ provider, callerKey, upstream, ticket }: Fetch, { status, headers }: UpstreamResponse, body: unknown): GatewayError {
  const { adapters, quirks, secrets } = provider
  const route: Route = { providerId: upstream.providerId, model: upstream.model, modelId: ticket.modelId }
  const request: ChatInput = { model: ticket.modelId, messages: [] }
  const failure = adapters.deferred?.error({ status, headers, body }, { request, route, quirks, streamed: false })
  return callerError(new ProviderFailure(failure ?? { kind: 'error' }), secrets, callerKey)
}

/** Recognises the answer for an id that is unknown, expired or collected, which is not documented. */
function isGone (status: number, body: unknown): boolean {
  return status === 404 || status === 410 ||
    (status === 400 && /not found|expired|no such|does not exist/i.test(JSON.stringify(body)))
}

/** A failure for good: kept, so that it is the same the next time. */
async function fail (failure: GatewayError, { record }: AuthedCall, keep: (answer: StoredAnswer) => Promise<Reply>): Promise<Reply> {
  noteError(record, failure)
  return await keep({ status: failure.status, body: JSON.stringify(failure.toBody()) })
}

function storedReply ({ status, body }: { readonly status: number | null, readonly body: string | null }): Reply {
  const isFinalError = status !== null && status >= 400
  return {
    status: status ?? 200,
    headers: isFinalError ? { ...jsonHeaders, 'x-should-retry': 'false' } : jsonHeaders,
    body: body ?? ''
  }
}

function pending ({ params, record }: AuthedCall): Reply {
  record.deferred = true
  return {
    status: 202,
    headers: { ...jsonHeaders, 'retry-after': '2' },
    body: JSON.stringify({ request_id: params['request_id'], status: 'pending' })
  }
}

