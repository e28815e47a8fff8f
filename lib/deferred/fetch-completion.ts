/**
 * Fetches a completion that a provider has deferred.
 *
 * A provider hands it out exactly once, so it is stored before it is given to the caller, who may read it
 * again. The start of a fetch is recorded first, as a lease: if the process dies in between, the next fetch
 * either gets the completion or knows that it is lost.
 */

import { randomUUID } from 'node:crypto'
import { startDeadline } from '../async/start-deadline.ts'
import { noteError } from '../core/record.ts'
import { keptEndUser } from '../core/call-attribution.ts'
import { noteUsage } from '../core/usage-facts.ts'
import { GatewayError } from '../core/errors.ts'
import { printText } from '../json/print-in-slices.ts'
import { notFound } from './open-ticket.ts'
import { completionTooLarge, noRoomFor } from './stored-reply.ts'
import { ProviderFailure, callerError, usageOfError } from '../providers/provider-failure.ts'
import { readErrorBody } from '../providers/error-body.ts'
import { redirectFailure } from '../providers/redirect.ts'
import type { AuthedCall } from '../core/call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { DeferredTicket } from './sealed-tickets.ts'
import type { Deferrals } from './deferrals.ts'
import type { StoredAnswer } from './deferred-store.ts'
import type { Credential } from '../providers/credential.ts'
import type { Provider, UpstreamResponse } from '../providers/provider.ts'
import type { Route } from '../core/route.ts'
import type { Secret } from '../core/secret.ts'

/** Longest time for the request of a fetch, including its answer. */
const requestMs = 90_000
/** A fetch that has not ended by then has died with its process. */
const leaseMs = 120_000
const fetchTimeouts = {
  connectMs: 10_000,
  firstByteMs: 30_000,
  responseMs: 30_000,
  idleBytesMs: 10_000,
  idleEventsMs: 10_000
}

/** One completion at a provider, and the call that wants it. */
export interface CompletionFetch {
  readonly call: AuthedCall
  readonly ticket: DeferredTicket
  readonly upstream: NonNullable<DeferredTicket['upstream']>
  readonly provider: Provider
  /** The one that requested the completion. */
  readonly credential: Credential
  readonly callerKey: Secret | undefined
  /** Its id in the store. */
  readonly id: string
}

export interface FetchOptions {
  /** How long an answer is kept. */
  readonly keepMs: number
  /** Maximum bytes of a completion. */
  readonly maxBytes: number
  /**
   * Maximum bytes of a stored completion, and of all those stored for a key. A larger completion is handed
   * out once.
   */
  readonly maxStoredBytes: number
  readonly maxBytesPerKey: number
  /** Called once the request is sent. */
  readonly onSent?: (() => void) | undefined
  /**
   * Turns the received bytes into the completion.
   *
   * @throws what reading and the stages throw
   */
  readonly complete: (bytes: Buffer) => Promise<unknown>
}

/**
 * Returns the answer, either the completion or a permanent failure; `undefined` while it is not ready, or
 * while another process works on it.
 *
 * @throws GatewayError `deferred_completion_not_found`, or the error that prevented the fetch
 */
export async function fetchCompletion (
  fetch: CompletionFetch,
  deferrals: Deferrals,
  options: FetchOptions
): Promise<StoredAnswer | undefined> {
  const { id, call, ticket } = fetch
  const nowMs = deferrals.store.now()
  // Unique to this fetch: a later one of the same process must not pass for it.
  const lease = { owner: randomUUID(), untilMs: nowMs + leaseMs }
  const { caller } = call.record
  const endUser = caller.endUser = keptEndUser(ticket, caller)
  caller.parties = ticket.parties
  const claim = await deferrals.store.claim(
    { id, keyId: call.key.id, endUser },
    lease,
    expiresAtMs(ticket, options.keepMs),
    nowMs
  )
  if (claim === undefined) return undefined
  const isRetry = claim === 'again'
  // Not the caller's signal: a caller who leaves now may come back for the answer.
  const { signal, end } = startDeadline(requestMs, new AbortController().signal, new GatewayError('timeout'))
  try {
    return await fetchOnce(fetch, { ...options, store: deferrals.store, owner: lease.owner, isRetry, signal })
  } finally {
    end()
  }
}

function expiresAtMs ({ createdSeconds }: DeferredTicket, keepMs: number): number {
  return createdSeconds * 1000 + keepMs
}

interface ClaimedFetch extends FetchOptions {
  readonly store: Deferrals['store']
  /** The owner of the lease. */
  readonly owner: string
  /** True if an earlier fetch began, with an unknown result. */
  readonly isRetry: boolean
  /** Aborts once the request has taken too long. */
  readonly signal: AbortSignal
}

async function fetchOnce (fetch: CompletionFetch, claimed: ClaimedFetch): Promise<StoredAnswer | undefined> {
  const { store, owner, isRetry, keepMs, maxBytes, maxStoredBytes, maxBytesPerKey, complete } = claimed
  const { call, ticket, id, provider, callerKey } = fetch
  const keep = async (answer: StoredAnswer): Promise<boolean> =>
    await store.keep(id, owner, answer, expiresAtMs(ticket, keepMs))
  const gone = async (): Promise<StoredAnswer> => {
    if (isRetry) return await fail(new GatewayError('deferred_result_lost'), call, keep)
    await store.forget(id, owner)
    throw notFound()
  }
  const answer = await send(fetch, claimed).catch(async (error: unknown) => {
    await store.release(id, owner)
    throw error
  })
  if (answer.status === 202) {
    answer.body.cancel()
    await (isRetry ? store.release(id, owner) : store.forget(id, owner))
    return undefined
  }
  if (answer.status >= 200 && answer.status < 300) {
    let bytes: Buffer
    try {
      bytes = await answer.body.buffer(maxBytes)
    } catch (cause) {
      return await fail(new GatewayError('deferred_result_lost', { cause }), call, keep)
    }
    let completion: StoredAnswer
    try {
      completion = { status: 200, body: await printText(await complete(bytes)) }
      // The actual cost replaces the charge for the receipt; an estimate does not.
      if (call.record.usage.total !== undefined) refund(fetch)
      else call.record.cost.paidNanoUsd = fetch.upstream.chargedNanoUsd
    } catch (error) {
      // xAI reports this with status 200 as well.
      if (error instanceof ProviderFailure && error.failure.kind === 'model') return await gone()
      const usage = usageOfError(error)
      if (usage !== undefined) {
        noteUsage(call.record.usage, usage, undefined)
        refund(fetch)
      }
      return await fail(callerError(error, provider.secrets, callerKey), call, keep)
    }
    const sizeBytes = Buffer.byteLength(completion.body)
    try {
      if (sizeBytes > maxStoredBytes) await keep(answerOf(completionTooLarge(maxStoredBytes)))
      else if ((await store.keptBytes(call.key.id)) + sizeBytes > maxBytesPerKey)
        await keep(answerOf(noRoomFor(maxBytesPerKey)))
      else await keep(completion)
    } catch (error) {
      call.record.end.cause = error
    }
    // in any case: the provider delivers it only once, so no other fetch records its cost
    return completion
  }
  const body = await readErrorBody(answer)
  if (isGone(answer.status, body)) return await gone()
  const failure = errorOf(fetch, answer, body)
  if (failure.fault === 'final' || failure.fault === 'unsupported') {
    // An answer that is not kept is fetched again, and refunded then.
    return await fail(failure, call, async answer => { if (await keep(answer)) refund(fetch) })
  }
  await (isRetry || failure.fault === 'transient' ? store.release(id, owner) : store.forget(id, owner))
  throw failure
}

/** Takes back the charge for the receipt. Only the first delivery of the answer gets here. */
function refund ({ call: { record }, upstream: { chargedNanoUsd } }: CompletionFetch): void {
  record.cost.refundedNanoUsd = chargedNanoUsd
}

async function send (
  { provider, upstream, credential, call }: CompletionFetch,
  { signal, onSent }: Pick<ClaimedFetch, 'signal' | 'onSent'>
): Promise<UpstreamResponse> {
  const { deferred } = provider.adapters
  if (deferred === undefined) throw notFound()
  call.record.routing.requestCount++
  call.record.routing.providerId = provider.id
  const sentAtMs = performance.now()
  try {
    const response = provider.transport.send(deferred.fetch(upstream.upstreamId), {
      signal,
      credential,
      timeouts: fetchTimeouts,
      streamed: false,
      keyId: call.key.id
    })
    onSent?.()
    return await response
  } finally {
    call.record.times.upstreamWaitMs += performance.now() - sentAtMs
  }
}

function errorOf (
  { provider, callerKey, upstream, ticket }: CompletionFetch,
  { status, headers }: UpstreamResponse,
  body: unknown
): GatewayError {
  const { adapters, quirks, secrets } = provider
  const route: Route = { providerId: upstream.providerId, model: upstream.model, modelId: ticket.modelId }
  const request: ChatInput = { model: ticket.modelId, messages: [] }
  const failure = redirectFailure({ status, headers }) ?? adapters.deferred?.error(
    { status, headers, body },
    { request, route, quirks, streamed: false }
  )
  return callerError(new ProviderFailure(failure ?? { kind: 'error' }), secrets, callerKey)
}

/** Recognises the undocumented answer for an id that is unknown, expired or already collected. */
function isGone (status: number, body: unknown): boolean {
  return status === 404 || status === 410 ||
    (status === 400 && /not found|expired|no such|does not exist/i.test(JSON.stringify(body)))
}

/** A permanent failure: stored, so that it is the same the next time. */
async function fail (
  failure: GatewayError,
  { record }: AuthedCall,
  keep: (answer: StoredAnswer) => Promise<unknown>
): Promise<StoredAnswer> {
  noteError(record.end, failure)
  const answer = answerOf(failure)
  await keep(answer)
  return answer
}

function answerOf (failure: GatewayError): StoredAnswer {
  return { status: failure.status, body: JSON.stringify(failure.toBody()) }
}
