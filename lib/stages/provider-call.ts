/**
 * Calls the providers of a call's routes, in order, until one answers; the route is final from then on.
 *
 * Everything before visible output is held back: if an error follows, another provider can still be tried, or
 * the error gets its own status. The hold is limited in time, so that the caller sees a sign of life while a
 * model thinks for minutes.
 */

import { CallAttempts } from '../attempts/call-attempts.ts'
import { inCallerTerms } from '../attempts/caller-terms.ts'
import { PreparedRequest } from '../attempts/prepared-request.ts'
import { recordAnswerClosed, recordBrokenAnswer } from '../attempts/route-attempt.ts'
import { callerError } from '../providers/provider-failure.ts'
import { done } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'
import type { OpenResponse } from '../attempts/open-response.ts'
import type { ResponseBounds } from '../attempts/send-request.ts'
import type { SlowStreamPolicy } from '../attempts/stream-pace.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { Capability, EventOf, Providers, RequestOf } from '../providers/provider.ts'
import type { RoutingState } from '../routing/routing-state.ts'
import type { Services } from '../services.ts'

export interface ProviderCallServices
  extends Pick<Services, 'providers' | 'abandonedAnswers' | 'journalSent' | 'routingState'> {
  readonly settings: { readonly limits: ResponseBounds }
}

/**
 * Calls the provider and yields its answer: at least one batch. The first batch has visible output or the end
 * of the answer; after `holdMs`, or too many events, it has what came so far, perhaps nothing. A complete
 * answer is one batch.
 *
 * @param services `abandonedAnswers` reads answers to their end after the caller has left, for calls with a
 *   budget and providers with `on_disconnect: drain`; `routingState` tracks the gateway's own credentials, so
 *   calls with `X-Provider-Key` neither use nor update it, except for the APIs that a server lacks.
 *   `journalSent` is called with each request
 * @param options override those of `settings.limits`
 * @throws GatewayError before the first batch when no route could answer; after it when the answer broke off
 */
export function providerCall<C extends Capability> (
  { providers, settings, abandonedAnswers: abandoned, journalSent, routingState }: ProviderCallServices,
  capability: C,
  options: Partial<ResponseBounds> = {}
): Stage<RoutedCall<RequestOf<C>>, Batch<RequestOf<C>, EventOf<C>>> {
  type R = RequestOf<C>
  type E = EventOf<C>
  const bounds = { ...settings.limits, ...options }
  const limitsSlowStreams = [...providers.values()].some(({ slowStream }) => slowStream !== undefined)
  return flatMap(call => {
    call.record.request.isStreamed = call.request.stream === true
    const state = call.providerKey === undefined ? routingState : routingState.ofCallerKey()
    const tryGiveUp = limitsSlowStreams ? giveUpOnSlowStreams(call, providers, capability, state) : undefined
    const prepare = (route: Route): PreparedRequest<R, E> | undefined => {
      const provider = providers.get(route.providerId)
      const adapter = provider?.adapters[capability]
      if (provider === undefined || adapter === undefined) return undefined
      return new PreparedRequest<R, E>(call, route, {
        provider,
        adapter,
        bounds,
        tryGiveUp,
        abandoned,
        journalSent,
        isFree: capability === 'tokenCount',
        missingApis: routingState.missingApis
      })
    }
    const usesFirstCredential = capability === 'deferred'
    return new AnswerBatches<R, E>(call, {
      open: () => new CallAttempts<E>(call, { state, usesFirstCredential, prepare }).answer(),
      fail: (error, route) => {
        if (call.signal.aborted) return error
        state.recordStreamFailure(route, call.key.id, error)
        const provider = providers.get(route.providerId)
        const adapter = provider?.adapters[capability]
        const input = provider && { request: call.request, route, quirks: provider.quirks, streamed: true }
        const named = input && adapter ? inCallerTerms(error, input, adapter) : error
        const failure = callerError(named, provider?.secrets, call.providerKey)
        recordBrokenAnswer(call, route, failure.code)
        return failure
      }
    })
  })
}

/**
 * Returns the function that decides whether a slow stream of a call is cancelled; `undefined` if none of its
 * providers limits them. Before any output, a stream is cancelled only if another route is still untried.
 */
function giveUpOnSlowStreams (
  { request, routes, record }: RoutedCall<{ readonly stream?: boolean | undefined }>,
  providers: Providers,
  capability: Capability,
  { slowStreamBudget }: RoutingState
): SlowStreamPolicy['tryGiveUp'] | undefined {
  if (request.stream !== true) return undefined
  const able = routes.filter(
    ({ providerId }) => providers.get(providerId)?.adapters[capability] !== undefined
  )
  if (!able.some(({ providerId }) => providers.get(providerId)?.slowStream !== undefined)) return undefined
  slowStreamBudget.onCall()
  const isUntried = (route: Route): boolean =>
    record.routing.attempts?.some(attempt => attempt.route === route) !== true
  return moment => (moment === 'after_output' || able.some(isUntried)) && slowStreamBudget.take()
}

export interface AnswerBatchesOptions<E> {
  readonly open: () => Promise<OpenResponse<E>>
  /** Notes that an answer broke off, and returns the error to throw. */
  readonly fail: (error: unknown, route: Route) => unknown
}

type Result<R, E> = IteratorResult<Batch<R, E>, undefined>

/**
 * One answer, read by read: at least one batch. A generator would stay suspended, with its promises, for as
 * long as a stream waits.
 */
export class AnswerBatches<R, E> implements AsyncIterableIterator<Batch<R, E>, undefined> {
  readonly #call: RoutedCall<R>
  readonly #options: AnswerBatchesOptions<E>
  /** Set while it is read. */
  #answer: OpenResponse<E> | undefined
  #hasBegun = false
  #hasEnded = false

  constructor (call: RoutedCall<R>, options: AnswerBatchesOptions<E>) {
    this.#call = call
    this.#options = options
  }

  next (): Promise<Result<R, E>> {
    if (this.#hasEnded) return Promise.resolve(done)
    return this.#answer === undefined
      ? this.#begin()
      : this.#answer.next().then(this.#onEvents, this.#onFailure)
  }

  return (): Promise<Result<R, E>> {
    this.#end()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  async #begin (): Promise<Result<R, E>> {
    this.#answer = await this.#options.open()
    if (this.#hasEnded) this.#end()
    return await this.next()
  }

  readonly #onEvents = (events: E[] | undefined): Result<R, E> | Promise<Result<R, E>> =>
    this.#resultOf(events) ?? this.#readOn()

  readonly #onFailure = (error: unknown): Result<R, E> => {
    const answer = this.#answer
    if (answer === undefined) return done // its reader has left
    this.#end()
    throw this.#options.fail(error, answer.route)
  }

  /** Reads until there is a batch. */
  async #readOn (): Promise<Result<R, E>> {
    for (;;) {
      let events: E[] | undefined
      try {
        events = await this.#answer?.next()
      } catch (error) {
        return this.#onFailure(error)
      }
      const result = this.#resultOf(events)
      if (result !== undefined) return result
    }
  }

  /** Returns a batch of the events; `undefined` if there are none, except for the first batch. */
  #resultOf (events: E[] | undefined): Result<R, E> | undefined {
    const answer = this.#answer
    if (events === undefined || answer === undefined) {
      this.#end()
      return done
    }
    if (events.length === 0 && this.#hasBegun) return undefined
    this.#hasBegun = true
    // Closed before its reader sees it: a reader that refuses a complete answer abandons nothing.
    if (answer.isFinished()) this.#end()
    return { done: false, value: { call: this.#call, route: answer.route, events } }
  }

  #end (): void {
    this.#hasEnded = true
    const answer = this.#answer
    this.#answer = undefined // closed once: an answer that is read on without its caller continues here
    if (answer === undefined) return
    recordAnswerClosed(this.#call, answer.route)
    answer.close()
    this.#call.record.usage.reported = answer.reported()
  }
}
