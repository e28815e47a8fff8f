/**
 * Asks the providers of a call's routes, in order, until one answers; then there is no going back.
 *
 * The head of the answer, the role and whatever else comes before real output is kept back: an
 * error among it can still be answered by another provider or with a proper status. The hold is
 * bounded in time, so that a model that thinks for minutes does not leave the caller without a
 * sign of life.
 */

import { GatewayError } from '../core/errors.ts'
import { AbandonedAnswers } from '../upstream/abandoned-answers.ts'
import { callerError } from '../providers/provider-failure.ts'
import { openParts, partsOf } from '../upstream/split.ts'
import type { AttemptPart, ProviderCallOptions } from '../upstream/attempt.ts'
import type { OpenAttempt } from '../upstream/open-attempt.ts'
import { standardSignal } from '../async/cancellation.ts'
import { pause } from '../async/pause.ts'
import { AttemptPlan } from '../routing/attempt-plan.ts'
import { RouteHealth } from '../routing/route-health.ts'
import { hedge, type Send } from '../routing/hedge.ts'
import type { CallRecord } from '../core/record.ts'
import type { Batch } from '../core/batch.ts'
import type { Route } from '../core/route.ts'
import { extend, type RoutedCall } from '../core/call.ts'
import type {
  Adapter, Ask, Capability, EventOf, Provider, Providers, RequestOf
} from '../providers/provider.ts'
import type { Services } from '../services.ts'
import { flatMap, type Stage } from '../core/stage.ts'

export interface ProviderCallServices extends Pick<Services, 'providers'>, Partial<Pick<Services, 'abandoned' | 'routeHealth'>> {
  readonly settings: { readonly limits: ProviderCallOptions }
}

/**
 * Calls the provider: one call in, its answer out: at least one batch, the first of which holds real output or the
 * end of the answer. A whole answer is one batch.
 *
 * @param services `abandoned` reads on for providers whose answers are wanted to the end when the
 *   caller leaves; `health` is what is known of the gateway's own credentials: calls with one of
 *   their own neither see it nor add to it. Default of both: their own
 * @param options instead of what `settings.limits` says
 * @throws GatewayError before the first batch when no route could answer; after it when the
 *   answer broke off
 */
export function providerCall<C extends Capability> (
  { providers, settings, abandoned = new AbandonedAnswers(), routeHealth: shared = new RouteHealth() }: ProviderCallServices,
  capability: C,
  options: Partial<ProviderCallOptions> = {}
): Stage<RoutedCall<RequestOf<C>>, Batch<RequestOf<C>, EventOf<C>>> {
  type R = RequestOf<C>
  type E = EventOf<C>
  const limits = { ...settings.limits, ...options }
  const open: OpenRoute<R, E> = (call, route, provider, adapter) => {
    const readsOn = mustReadOn(call, provider)
    let parts: ReadonlyArray<AttemptPart<R>> | undefined // made once, however often it is tried
    return async (credential, signal) => {
      const requests = parts ??= partsOf(adapterInput(call.request, route, provider), adapter)
      const over = signal === undefined ? call.signal : AbortSignal.any([standardSignal(call.signal), signal])
      const attempt = credential === undefined && signal === undefined ? call : extend(call, { credential, signal: over })
      return readsOn
        ? await abandoned.open(attempt, async kept => await openParts(kept, requests, provider, adapter, limits))
        : await openParts(attempt, requests, provider, adapter, limits)
    }
  }
  return flatMap(call => {
    call.record.streamed = call.request.stream === true
    const health = call.providerKey === undefined ? shared : new RouteHealth()
    return new AnswerBatches<R, E>(call, {
      open: async () => await firstAnswer<R, E>(call, providers, ({ adapters }) => adapters[capability], open, health, capability === 'deferred'),
      fail: (error, route) => {
        if (call.signal.aborted) return error
        health.recordStreamFailure(route, error)
        return callerError(error, providers.get(route.providerId)?.secrets, call.providerKey)
      }
    })
  })
}

interface Answering<E> {
  readonly open: () => Promise<FirstAnswer<E>>
  /** Notes that an answer broke off, and returns the error to throw. */
  readonly fail: (error: unknown, route: Route) => unknown
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** One answer, read by read; written by hand as the iterators of `core/stage` are. */
class AnswerBatches<R, E> implements AsyncIterableIterator<Batch<R, E>, undefined> {
  readonly #call: RoutedCall<R>
  readonly #answering: Answering<E>
  #open: FirstAnswer<E> | undefined
  #begun = false
  #ended = false

  constructor (call: RoutedCall<R>, answering: Answering<E>) {
    this.#call = call
    this.#answering = answering
  }

  async next (): Promise<IteratorResult<Batch<R, E>, undefined>> {
    if (this.#ended) return done
    const { route, answer } = this.#open ??= await this.#answering.open()
    try {
      for (;;) {
        const events = await answer.next()
        if (events === undefined) break
        if (events.length === 0 && this.#begun) continue
        this.#begun = true
        return { done: false, value: { call: this.#call, route, events } }
      }
    } catch (error) {
      this.#end()
      throw this.#answering.fail(error, route)
    }
    this.#end()
    return done
  }

  async return (): Promise<IteratorResult<Batch<R, E>, undefined>> {
    this.#end()
    return done
  }

  #end (): void {
    this.#ended = true
    this.#open?.answer.close()
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}

/** The route that answers, and its answer. */
interface FirstAnswer<E> {
  readonly route: Route
  readonly answer: OpenAttempt<E>
}

/** Prepares what opens the answer of one route, as often as it is called. */
type OpenRoute<R, E> = (
  call: RoutedCall<R>, route: Route, provider: Provider, adapter: Adapter<R, E>
) => (credential: number | undefined, signal?: AbortSignal) => Promise<OpenAttempt<E>>

interface StreamableRequest {
  readonly stream?: boolean | undefined
}

async function firstAnswer<R extends StreamableRequest, E> (
  call: RoutedCall<R>,
  providers: Providers,
  pick: (provider: Provider) => Adapter<R, E> | undefined,
  open: OpenRoute<R, E>,
  health: RouteHealth,
  firstCredential: boolean
): Promise<FirstAnswer<E>> {
  const { record, signal } = call
  record.routes ??= call.routes // of the first turn, if there are several
  const able = call.routes.filter(({ providerId }) => {
    const provider = providers.get(providerId)
    return provider !== undefined && pick(provider) !== undefined
  })
  const plan = new AttemptPlan(able, health, {
    retries: ({ providerId }) => providers.get(providerId)?.retries ?? 0,
    firstCredential,
    onSkip: (route, reason) => noteAttempt(call, route, reason)
  })
  /** The request of a route is built once, however often it is sent. */
  const opened = new Map<Route, ReturnType<OpenRoute<R, E>>>()
  const openerOf = (route: Route): { provider: Provider, send: ReturnType<OpenRoute<R, E>> } => {
    const provider = providers.get(route.providerId)
    const adapter = provider === undefined ? undefined : pick(provider)
    if (provider === undefined || adapter === undefined) throw new TypeError(`${route.modelId} is not one that can be asked`)
    const send = opened.get(route) ?? open(call, route, provider, adapter)
    opened.set(route, send)
    return { provider, send }
  }
  const streamed = call.request.stream === true
  /** Prepares the next route as a second request beside the one in flight; its outcome is noted here. */
  const startBeside = (): { readonly route: Route, readonly send: Send<OpenAttempt<E>> } | undefined => {
    const beside = health.hedges.take() ? plan.beside() : undefined
    if (beside === undefined) return undefined
    const { route, credential } = beside
    const { provider, send } = openerOf(route)
    record.hedges = (record.hedges ?? 0) + 1
    return {
      route,
      send: async over => {
        const startedAtMs = performance.now()
        const attempt = health.begin(route)
        try {
          const answer = await send(credential, over)
          health.answered(route, attempt, streamed, performance.now() - startedAtMs)
          return answer
        } catch (error) {
          if (!over.aborted && !signal.aborted) {
            const failure = callerError(error, provider.secrets, call.providerKey)
            health.failed(route, attempt, failure, credential)
            noteAttempt(call, route, failure.code)
          }
          throw error
        } finally {
          health.ended(route, attempt)
        }
      }
    }
  }
  // Of a request that must be read to its end, nothing is saved by giving it up.
  const hedges = able.length > 1 && able.every(({ providerId }) => {
    const provider = providers.get(providerId)
    return provider !== undefined && !mustReadOn(call, provider)
  })
  let planned = plan.first()
  while (planned !== undefined) {
    const { route, waitMs, isRetry, credential } = planned
    const { provider, send } = openerOf(route)
    if (isRetry) record.retries = (record.retries ?? 0) + 1
    if (waitMs > 0) await backOff(waitMs, call)
    record.modelId = route.modelId
    record.providerId = provider.id
    const startedAtMs = performance.now()
    const attempt = health.begin(route)
    try {
      if (!hedges || route.hedgeAfterMs === undefined) {
        const answer = await send(credential)
        health.answered(route, attempt, streamed, performance.now() - startedAtMs)
        record.chosen = route
        return { route, answer }
      }
      health.hedges.onCall()
      let second: Route | undefined
      const raced = await hedge(route.hedgeAfterMs, async over => await send(credential, over), () => {
        const beside = startBeside()
        second = beside?.route
        return beside?.send
      }, answer => answer.close())
      const { answer, winner, firstFailure } = raced
      if (winner === 'first' || second === undefined) {
        health.answered(route, attempt, streamed, performance.now() - startedAtMs)
        if (second !== undefined && !wasNoted(record, second)) noteAttempt(call, second, 'slower')
        record.chosen = route
        return { route, answer }
      }
      if (firstFailure === undefined) {
        noteAttempt(call, route, 'slower')
      } else {
        const failure = callerError(firstFailure, provider.secrets, call.providerKey)
        health.failed(route, attempt, failure, credential)
        noteAttempt(call, route, failure.code)
      }
      record.modelId = second.modelId
      record.providerId = second.providerId
      record.chosen = second
      return { route: second, answer }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      const failure = callerError(error, provider.secrets, call.providerKey)
      const again = plan.reconnect(failure)
      if (again === undefined) {
        health.failed(route, attempt, failure, credential)
        noteAttempt(call, route, failure.code)
        if (failure.fault === 'caller' && !failure.unsupported) throw failure
      }
      planned = again ?? plan.next(failure)
      if (planned === undefined) throw failure
    } finally {
      health.ended(route, attempt)
      record.upstreamWaitMs += performance.now() - startedAtMs
    }
  }
  throw new GatewayError('model_not_found', {
    message: `The model \`${call.routes[0].modelId}\` does not serve this endpoint.`, param: 'model'
  })
}

/** Returns true when an answer is read to its end although the caller left: a provider bills what it has written, and a budget must count that. */
function mustReadOn<R> ({ key, providerKey }: RoutedCall<R>, { onDisconnect }: Provider): boolean {
  return onDisconnect === 'drain' || (key.limits?.budget !== undefined && providerKey === undefined)
}

function wasNoted ({ failedAttempts = [] }: CallRecord, route: Route): boolean {
  return failedAttempts.some(failed => failed.route === route)
}

/** Waits between two attempts. The time counts as waiting for the provider, as that of an attempt does. */
async function backOff (waitMs: number, { record, signal }: Pick<RoutedCall<unknown>, 'record' | 'signal'>): Promise<void> {
  const startedAtMs = performance.now()
  try {
    await pause(waitMs, signal)
  } finally {
    record.upstreamWaitMs += performance.now() - startedAtMs
  }
}

/** Merges the route's settings into the request, which wins. */
function adapterInput<R extends StreamableRequest> (given: R, route: Route, { quirks }: Provider): Ask<R> {
  const request = route.settings === undefined ? given : { ...route.settings, ...given }
  return { request, route, quirks, streamed: request.stream === true }
}

function noteAttempt<R> ({ record }: RoutedCall<R>, route: Route, reason: string): void {
  record.failedAttempts ??= []
  record.failedAttempts.push({ route, reason })
}
