/**
 * Asks the providers of a call's routes, in order, until one answers; after that the route is final.
 *
 * The head of the answer, the role and whatever else comes before real output is kept back: an
 * error among it can still become an attempt at another provider or with a proper status. The hold is
 * bounded in time, so that a model that thinks for minutes does not leave the caller without a
 * sign of life.
 */

import { isLargeRequest } from '../core/record.ts'
import { GatewayError } from '../core/errors.ts'
import { AbandonedAnswers } from '../attempts/abandoned-answers.ts'
import { AnswerBatches } from '../attempts/answer-batches.ts'
import { ProviderFailure, callerError } from '../providers/provider-failure.ts'
import { openParts, partsOf, usagesIn, type AnyEvent } from '../attempts/split.ts'
import type { AttemptCall, UpstreamPart, ProviderCallOptions } from '../attempts/attempt.ts'
import type { OpenAttempt } from '../attempts/open-attempt.ts'
import { standardSignal } from '../async/cancellation.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { CallAttempts } from '../attempts/call-attempts.ts'
import { noteAttempt, type RouteRequest } from '../attempts/route-attempt.ts'
import { RouteHealth } from '../routing/route-health.ts'
import type { MissingApis } from '../routing/missing-apis.ts'
import type { Batch } from '../core/batch.ts'
import type { FitOptions, FittedRequest } from '../core/direct-request.ts'
import type { Route } from '../core/route.ts'
import { extend, type RoutedCall } from '../core/call.ts'
import type { Adapter, Ask, Capability, EventOf, Provider, RequestOf } from '../providers/provider.ts'
import type { AnswerEvent } from '../core/events.ts'
import type { Services } from '../services.ts'
import type { Usage } from '../core/usage.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'

export interface ProviderCallServices extends Pick<Services, 'providers'>, Partial<Pick<Services, 'abandonedAnswers' | 'recordSent' | 'routeHealth'>> {
  readonly settings: { readonly limits: ProviderCallOptions }
}

/**
 * Calls the provider and yields its answer: at least one batch, the first of which holds visible output or the
 * end of the answer. A complete answer is one batch.
 *
 * @param services `abandonedAnswers` reads answers to their end after the caller has left, for providers with
 *   `on_disconnect: drain`; `routeHealth` is what is known of the gateway's own credentials: calls with
 *   `X-Provider-Key` neither use nor update it. Default: a new instance of each. `recordSent` is called with each request
 * @param options replace those of `settings.limits`
 * @throws GatewayError before the first batch when no route could answer; after it when the
 *   answer broke off
 */
export function providerCall<C extends Capability> (
  { providers, settings, abandonedAnswers: abandoned = new AbandonedAnswers(), recordSent, routeHealth = new RouteHealth() }: ProviderCallServices,
  capability: C,
  options: Partial<ProviderCallOptions> = {}
): Stage<RoutedCall<RequestOf<C>>, Batch<RequestOf<C>, EventOf<C>>> {
  type R = RequestOf<C>
  type E = EventOf<C>
  const limits = { ...settings.limits, ...options }
  const shared: SharedByRequests = { abandoned, recordSent, isFree: capability === 'tokenCount', missingApis: routeHealth.missingApis }
  const prepare = (call: RoutedCall<R>, route: Route, mayGiveUp: ProviderCallOptions['mayGiveUp']): RouteRequest<OpenAttempt<E>> | undefined => {
    const provider = providers.get(route.providerId)
    const adapter = provider?.adapters[capability]
    if (provider === undefined || adapter === undefined) return undefined
    return new PreparedRequest<R, E>(call, route, provider, adapter, mayGiveUp === undefined ? limits : { ...limits, mayGiveUp }, shared)
  }
  /** Returns who decides about streams that are too slow; `undefined` where none can be. */
  const slowStreamGuard = (call: RoutedCall<R>, health: RouteHealth): ProviderCallOptions['mayGiveUp'] => {
    if (call.request.stream !== true) return undefined
    const able = call.routes.flatMap(({ providerId }) => {
      const provider = providers.get(providerId)
      return provider?.adapters[capability] === undefined ? [] : [provider]
    })
    if (!able.some(({ slowStream }) => slowStream !== undefined)) return undefined
    health.slowStreamBudget.onCall()
    return moment => (moment === 'after_output' || able.length > 1) && health.slowStreamBudget.take()
  }
  return flatMap(call => {
    call.record.streamed = call.request.stream === true
    const health = call.providerKey === undefined ? routeHealth : new RouteHealth()
    const mayGiveUp = slowStreamGuard(call, health)
    return new AnswerBatches<R, E>(call, {
      open: () => new CallAttempts(call, {
        health, firstCredential: capability === 'deferred', prepare: route => prepare(call, route, mayGiveUp)
      }).firstAnswer(),
      fail: (error, route) => {
        if (call.signal.aborted) return error
        health.recordStreamFailure(route, error)
        if (error instanceof GatewayError && error.code === 'upstream_too_slow') noteAttempt(call, route, error.code)
        return callerError(error, providers.get(route.providerId)?.secrets, call.providerKey)
      }
    })
  })
}

/** Holds what the requests of one stage share. */
interface SharedByRequests {
  readonly abandoned: AbandonedAnswers
  readonly recordSent: Services['recordSent'] | undefined
  /** True for counts of tokens, which cost nothing. */
  readonly isFree: boolean
  readonly missingApis: MissingApis
}

/** The request of a call to one route. Its parts are made once, however often they are sent, but for each account that keeps something. */
class PreparedRequest<R extends { readonly stream?: boolean | undefined }, E extends AnyEvent & AnswerEvent> implements RouteRequest<OpenAttempt<E>> {
  readonly provider: Provider
  readonly readsToEnd: boolean
  readonly #call: RoutedCall<R>
  readonly #route: Route
  readonly #adapter: Adapter<R, E>
  readonly #options: ProviderCallOptions
  readonly #shared: SharedByRequests
  #made: Array<{ readonly credential: number | undefined, readonly parts: ReadonlyArray<UpstreamPart<R, E>> }> = []
  /** True once the server has said that it does not have the API of this request: it is translated from then on. */
  #refused = false

  constructor (call: RoutedCall<R>, route: Route, provider: Provider, adapter: Adapter<R, E>, options: ProviderCallOptions, shared: SharedByRequests) {
    this.provider = provider
    this.readsToEnd = mustReadToEnd(call, provider)
    this.#call = call
    this.#route = route
    this.#adapter = adapter
    this.#options = options
    this.#shared = shared
  }

  send (credential: number | undefined, signal?: AbortSignal): Promise<OpenAttempt<E>> {
    const call = this.#call
    const attemptSignal = signal === undefined ? call.signal : AbortSignal.any([standardSignal(call.signal), signal])
    const attempt = credential === undefined && signal === undefined ? call : extend(call, { credential, signal: attemptSignal })
    if (this.#refused) return this.#openTranslated(attempt, credential)
    const parts = this.#partsFor(credential)
    if (parts[0]?.ask.direct === undefined) return this.#open(attempt, parts)
    return this.#open(attempt, parts).then(opened => {
      this.#shared.missingApis.noteServed(this.provider)
      return opened
    }, (error: unknown) => {
      if (!(error instanceof ProviderFailure) || error.failure.kind !== 'missing_api') throw error
      this.#refused = true
      this.#made = []
      return this.#openTranslated(attempt, credential)
    })
  }

  /** Sends a request that was refused again, translated. What it shows of the server counts for all callers only if no key of one was used. */
  #openTranslated (attempt: AttemptCall, credential: number | undefined): Promise<OpenAttempt<E>> {
    return this.#open(attempt, this.#partsFor(credential)).then(opened => {
      if (this.#call.providerKey === undefined) this.#shared.missingApis.noteMissing(this.provider)
      return opened
    })
  }

  billed (): readonly Usage[] {
    return usagesIn(this.#made.flatMap(({ parts }) => parts))
  }

  #open (attempt: AttemptCall, parts: ReadonlyArray<UpstreamPart<R, E>>): Promise<OpenAttempt<E>> {
    const [provider, adapter, options, { abandoned, recordSent, isFree }] = [this.provider, this.#adapter, this.#options, this.#shared]
    const opened = this.readsToEnd
      ? abandoned.open(attempt, async kept => await openParts(kept, parts, provider, adapter, options))
      : openParts(attempt, parts, provider, adapter, options)
    recordSent?.(this.#call, isFree)
    return opened
  }

  #partsFor (place: number | undefined): ReadonlyArray<UpstreamPart<R, E>> {
    const credential = this.#call.origin === undefined ? undefined : place
    const known = this.#made.find(made => made.credential === credential)
    if (known !== undefined) return known.parts
    const isTranslated = this.#refused || this.#shared.missingApis.isMissing(this.provider)
    const parts = partsOf(adapterInput(this.#call, this.#route, this.provider, { credential: place, isTranslated }), this.#adapter)
    this.#made.push({ credential, parts })
    return parts
  }
}

/**
 * Returns whether an answer is read to its end although the caller left: a provider bills what it has written, and a budget
 * must count that.
 */
function mustReadToEnd<R> ({ record }: RoutedCall<R>, { onDisconnect }: Provider): boolean {
  return onDisconnect === 'drain' || record.reservedNanoUsd !== undefined
}

function fitted<R> ({ request, fit }: RoutedCall<R>, route: Route, options: FitOptions): FittedRequest<R> {
  return fit === undefined ? { request } : fit(request, route, options) as FittedRequest<R> // it gives what it takes
}

/** Makes the input of the route's adapter: the request with the settings of the route. */
function adapterInput<R extends { readonly stream?: boolean | undefined }> (
  call: RoutedCall<R>, route: Route, { quirks }: Provider, options: FitOptions
): Ask<R> {
  const { request: given, direct } = fitted(call, route, options)
  const request = mergeSettings(given, route.settings)
  return {
    request, route, quirks, direct,
    streamed: request.stream === true,
    isLarge: isLargeRequest(call.record),
    media: call.media?.(),
    callerBody: call.callerBody?.()
  }
}
