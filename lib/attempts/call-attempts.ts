/**
 * Sends a call to its routes, in order, until one answers.
 *
 * `AttemptPlan` chooses the next route, `RouteAttempt` records the outcome of each, and `hedged-answer`
 * starts a second request when the first is slow.
 */

import { GatewayError } from '../core/errors.ts'
import { sleep } from '../async/sleep.ts'
import { AttemptPlan, type PlannedAttempt } from './attempt-plan.ts'
import { hedgedAnswer } from './hedged-answer.ts'
import { RouteAttempt, recordUnusedRoute, recordWasted } from './route-attempt.ts'
import { accountDigest } from '../providers/credential.ts'
import { ProviderFailure, requestsOfError, usageOfError } from '../providers/provider-failure.ts'
import { noteUsage } from '../core/usage-facts.ts'
import type { Call, ProviderAccount, RoutedCall } from '../core/call.ts'
import type { AnswerEvent } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import type { RoutingState } from '../routing/routing-state.ts'
import type { AnyEvent, OpenResponse } from './open-response.ts'
import type { PreparedRequest } from './prepared-request.ts'

/** What attempts need of the request to a route. */
type RouteRequest<E extends AnyEvent & AnswerEvent> =
  Pick<PreparedRequest<never, E>, 'provider' | 'readsToEnd' | 'send' | 'unusedParts'>

export interface CallAttemptsOptions<E extends AnyEvent & AnswerEvent> {
  readonly state: RoutingState
  /** True for requests whose answer is fetched later: they all use the first credential of a provider. */
  readonly usesFirstCredential: boolean
  /** Prepares the request to a route; `undefined` if its provider has no adapter for it. */
  readonly prepare: (route: Route) => RouteRequest<E> | undefined
}

/** The attempts of one call, or of one turn of its tool loop. Call `answer` once. */
export class CallAttempts<E extends AnyEvent & AnswerEvent> {
  readonly #call: RoutedCall<{ readonly stream?: boolean | undefined }>
  readonly #state: RoutingState
  /** The routes that can be called, each with its request. */
  readonly #requests = new Map<Route, RouteRequest<E>>()
  readonly #plan: AttemptPlan
  readonly #mayHedge: boolean

  constructor (
    call: RoutedCall<{ readonly stream?: boolean | undefined }>,
    { state, usesFirstCredential, prepare }: CallAttemptsOptions<E>
  ) {
    this.#call = call
    this.#state = state
    for (const route of call.routes) {
      const request = prepare(route)
      if (request !== undefined) this.#requests.set(route, request)
    }
    const requests = [...this.#requests.values()]
    this.#mayHedge = requests.length > 1 && !requests.some(({ readsToEnd }) => readsToEnd)
    this.#plan = new AttemptPlan([...this.#requests.keys()], state, {
      keyId: call.key.id,
      session: call.session,
      usesFirstCredential,
      retries: route =>
        Math.min(this.#requestTo(route).provider.retries, call.options?.maxRetries ?? Infinity),
      credentialIndex: route => this.#credentialFor(route),
      onSkip: (route, reason) => recordUnusedRoute(call, route, reason)
    })
  }

  /** Returns the index of the credential that the call must use, or has used before. */
  #credentialFor ({ providerId }: Route): number | undefined {
    const { key, origin, reasoningAccount: account } = this.#call
    if (origin?.providerId === providerId) return this.#indexOfAccount(origin)
    const index = account === undefined ? undefined : this.#indexOfAccount({ providerId, account })
    return index !== undefined && this.#state.credentials(providerId)?.isReady(index, key.id) === true
      ? index
      : undefined
  }

  /** Returns the index of the credential of an account; `undefined` if it is no longer configured. */
  #indexOfAccount ({ providerId, account }: ProviderAccount): number | undefined {
    const requests = [...this.#requests.values()]
    const provider = requests.find(request => request.provider.id === providerId)?.provider
    const { size = 0 } = this.#state.credentials(providerId) ?? {}
    for (let index = 0; index < size; index++) {
      if (provider !== undefined && accountDigest(provider, undefined, index) === account) return index
    }
    return undefined
  }

  /** @throws GatewayError the failure of the last attempt, if no route could answer */
  async answer (): Promise<OpenResponse<E>> {
    const { record, routes } = this.#call
    record.routing.routes ??= routes // keeps the routes of the first turn
    try {
      let planned = this.#plan.first()
      if (planned === undefined) throw modelDoesNotServe(routes[0])
      if (this.#mayHedge && planned.route.hedgeAfterMs !== undefined) this.#state.hedgeBudget.onCall()
      for (;;) {
        if (planned.isRetry) record.routing.retries = (record.routing.retries ?? 0) + 1
        if (planned.waitMs > 0) await waitForRetry(planned.waitMs, this.#call)
        const { route } = planned
        const attempt = this.#begin(planned)
        record.routing.modelId = route.modelId
        record.routing.providerId = route.providerId
        try {
          if (this.#mayHedge && route.hedgeAfterMs !== undefined) {
            return await this.#hedged(attempt, route.hedgeAfterMs)
          }
          const answer = await this.#requestTo(route).send(attempt)
          attempt.recordSuccess()
          return this.#choose(answer)
        } catch (error) {
          planned = this.#planNext(attempt, error)
        } finally {
          attempt.release()
          record.times.upstreamWaitMs += performance.now() - attempt.startedAtMs
        }
      }
    } catch (error) {
      this.#recordUnusedParts(undefined)
      throw error
    }
  }

  /** Records as wasted the usage billed by routes that do not answer. */
  #recordUnusedParts (answering: Route | undefined): void {
    for (const [route, request] of this.#requests) {
      if (route !== answering) {
        for (const part of request.unusedParts()) recordWasted(this.#call, route, part)
      }
    }
  }

  async #hedged (first: RouteAttempt, afterMs: number): Promise<OpenResponse<E>> {
    return this.#choose(await hedgedAnswer(
      this.#call, first, afterMs,
      (attempt, signal) => this.#requestTo(attempt.route).send(attempt, signal),
      () => this.#startHedge()
    ))
  }

  #choose (answer: OpenResponse<E>): OpenResponse<E> {
    const { record, session } = this.#call
    const { route } = answer
    record.routing.chosen = route
    if (route.ranked?.bySession === true && session?.id !== undefined) {
      this.#state.sessions.note(session.id, route.modelId)
    }
    if (this.#requests.size > 1) this.#recordUnusedParts(route)
    return answer
  }

  /**
   * Returns the attempt after a failed one.
   *
   * @throws the error of the failed one if there is none
   */
  #planNext (attempt: RouteAttempt, thrown: unknown): PlannedAttempt {
    const { signal, record } = this.#call
    if (signal.aborted) {
      const isRecorded = thrown instanceof GatewayError && thrown.isRecorded
      if (isRecorded || thrown instanceof ProviderFailure) attempt.recordProviderStopped()
      const usage = usageOfError(thrown)
      // like an abandoned answer
      if (usage !== undefined) noteUsage(record.usage, usage, record.usage.total, requestsOfError(thrown))
      throw signal.reason
    }
    const error = attempt.recordError(thrown)
    const again = this.#plan.reconnect(error)
    if (again !== undefined) {
      attempt.recordReconnect()
      return again
    }
    attempt.recordFailure(error)
    if (error.fault === 'final') throw error
    const next = this.#plan.next(error)
    if (next === undefined) throw error
    return next
  }

  /**
   * Starts an attempt at the next route as a hedge alongside the request in flight; `undefined` if there is
   * no route, or no budget for it.
   */
  #startHedge (): RouteAttempt | undefined {
    const { hedgeBudget } = this.#state
    const planned = hedgeBudget.isEmpty ? undefined : this.#plan.hedge()
    if (planned === undefined) return undefined
    hedgeBudget.take()
    const { record } = this.#call
    record.routing.hedges = (record.routing.hedges ?? 0) + 1
    return this.#begin(planned)
  }

  #begin (planned: PlannedAttempt): RouteAttempt {
    return new RouteAttempt(this.#call, this.#requestTo(planned.route).provider, planned, this.#state)
  }

  #requestTo (route: Route): RouteRequest<E> {
    const request = this.#requests.get(route)
    if (request === undefined) throw new TypeError(`${route.modelId} cannot be called`)
    return request
  }
}

/** Waits between two attempts. The time counts as waiting for the provider, like that of an attempt. */
async function waitForRetry (
  waitMs: number,
  { record, signal }: Pick<Call, 'record' | 'signal'>
): Promise<void> {
  const startedAtMs = performance.now()
  try {
    await sleep(waitMs, signal)
  } finally {
    record.times.upstreamWaitMs += performance.now() - startedAtMs
  }
}

function modelDoesNotServe ({ modelId }: Route): GatewayError {
  return new GatewayError('model_not_found', {
    message: `The model \`${modelId}\` does not serve this endpoint.`,
    param: 'model'
  })
}
