/**
 * Sends a call to its routes, in order, until one answers.
 *
 * `AttemptPlan` chooses the next route, `RouteAttempt` records the outcome of each, and `hedged-answer`
 * starts a second request when the first is slow.
 */

import { GatewayError } from '../core/errors.ts'
import { sleep } from '../async/sleep.ts'
import { AttemptPlan, type PlannedAttempt } from './attempt-plan.ts'
import { hedgedAnswer, type SecondAttempt } from './hedged-answer.ts'
import {
  RouteAttempt,
  noteFailedAttempt,
  noteWasted,
  type TriedCall,
  type RouteAnswer,
  type RouteRequest
} from './route-attempt.ts'
import { accountDigest } from '../providers/account-digest.ts'
import { usageOfError } from '../providers/provider-failure.ts'
import { noteUsage } from '../core/record.ts'
import type { ProviderAccount } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { RouteHealth } from '../routing/route-health.ts'

export interface CallAttemptsOptions<E> {
  readonly health: RouteHealth
  /** True for requests whose answer is fetched later: they all use the first credential of a provider. */
  readonly firstCredential: boolean
  /** Prepares the request to a route; `undefined` if its provider has no such endpoint. */
  readonly prepare: (route: Route) => RouteRequest<E> | undefined
}

export class CallAttempts<E> {
  readonly #call: TriedCall
  readonly #health: RouteHealth
  /** The routes that can be called, each with its request. */
  readonly #requests = new Map<Route, RouteRequest<E>>()
  readonly #plan: AttemptPlan
  readonly #mayHedge: boolean

  constructor (call: TriedCall, { health, firstCredential, prepare }: CallAttemptsOptions<E>) {
    this.#call = call
    this.#health = health
    for (const route of call.routes) {
      const request = prepare(route)
      if (request !== undefined) this.#requests.set(route, request)
    }
    const requests = [...this.#requests.values()]
    this.#mayHedge = requests.length > 1 && !requests.some(({ readsToEnd }) => readsToEnd)
    this.#plan = new AttemptPlan([...this.#requests.keys()], health, {
      keyId: call.key.id,
      session: call.session,
      firstCredential,
      retries: route =>
        Math.min(this.#requestTo(route).provider.retries, call.options?.maxRetries ?? Infinity),
      credential: route => this.#credentialFor(route),
      onSkip: (route, reason) => noteFailedAttempt(call, route, reason)
    })
  }

  /** Returns the index of the credential that the call must use, or has used before. */
  #credentialFor ({ providerId }: Route): number | undefined {
    const { key, origin, reasoningAccount: account } = this.#call
    if (origin?.providerId === providerId) return this.#indexOfAccount(origin)
    const index = account === undefined ? undefined : this.#indexOfAccount({ providerId, account })
    return index !== undefined && this.#health.credentials(providerId)?.isReady(index, key.id) === true
      ? index
      : undefined
  }

  /** Returns the index of the credential of an account; `undefined` if it is no longer configured. */
  #indexOfAccount ({ providerId, account }: ProviderAccount): number | undefined {
    const requests = [...this.#requests.values()]
    const provider = requests.find(request => request.provider.id === providerId)?.provider
    const { size = 0 } = this.#health.credentials(providerId) ?? {}
    for (let index = 0; index < size; index++) {
      if (provider !== undefined && accountDigest(provider, undefined, index) === account) return index
    }
    return undefined
  }

  /** @throws GatewayError the failure of the last attempt, if no route could answer */
  async firstAnswer (): Promise<RouteAnswer<E>> {
    const { record, routes } = this.#call
    record.routes ??= routes // keeps the routes of the first turn
    try {
      let planned = this.#plan.first()
      if (planned === undefined) throw modelDoesNotServe(routes[0])
      for (;;) {
        if (planned.isRetry) record.retries = (record.retries ?? 0) + 1
        if (planned.waitMs > 0) await backOff(planned.waitMs, this.#call)
        const { route, credential } = planned
        const request = this.#requestTo(route)
        const attempt = new RouteAttempt(this.#call, request.provider, planned, this.#health)
        record.modelId = route.modelId
        record.providerId = route.providerId
        try {
          if (this.#mayHedge && route.hedgeAfterMs !== undefined) {
            return await this.#hedged(attempt, request, planned, route.hedgeAfterMs)
          }
          const answer = await request.send({ credential, span: attempt.span })
          attempt.succeeded()
          return this.#chosen({ route, answer })
        } catch (error) {
          planned = this.#planNext(attempt, error)
        } finally {
          attempt.end()
          record.upstreamWaitMs += performance.now() - attempt.startedAtMs
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
      if (route !== answering) for (const usage of request.billed()) noteWasted(this.#call, route, usage)
    }
  }

  async #hedged (
    attempt: RouteAttempt,
    request: RouteRequest<E>,
    { credential }: PlannedAttempt,
    afterMs: number
  ): Promise<RouteAnswer<E>> {
    this.#health.hedgeBudget.onCall()
    const { span } = attempt
    const send = (signal: AbortSignal) => request.send({ credential, span, signal })
    return this.#chosen(await hedgedAnswer(this.#call, attempt, afterMs, send, () => this.#startHedge()))
  }

  #chosen (first: RouteAnswer<E>): RouteAnswer<E> {
    const { record, session } = this.#call
    record.chosen = first.route
    if (first.route.ranked?.bySession === true && session?.id !== undefined) {
      this.#health.sessions.note(session.id, first.route.modelId)
    }
    if (this.#requests.size > 1) this.#recordUnusedParts(first.route)
    return first
  }

  /**
   * Returns the attempt after a failed one.
   *
   * @throws the error of the failed one if there is none
   */
  #planNext (attempt: RouteAttempt, thrown: unknown): PlannedAttempt {
    const { signal, record } = this.#call
    if (signal.aborted) {
      const usage = usageOfError(thrown)
      if (usage !== undefined) noteUsage(record, usage, record.usage) // like an abandoned answer
      throw signal.reason
    }
    const error = attempt.errorOf(thrown)
    const again = this.#plan.reconnect(error)
    if (again !== undefined) {
      attempt.reconnects()
      return again
    }
    attempt.failed(error)
    if (error.fault === 'caller') throw error
    const next = this.#plan.next(error)
    if (next === undefined) throw error
    return next
  }

  /**
   * Prepares the next route as a hedge beside the request in flight; `undefined` if there is none, or no
   * budget for it.
   */
  #startHedge (): SecondAttempt<E> | undefined {
    const planned = this.#health.hedgeBudget.take() ? this.#plan.hedge() : undefined
    if (planned === undefined) return undefined
    const { record } = this.#call
    record.hedges = (record.hedges ?? 0) + 1
    const request = this.#requestTo(planned.route)
    const { credential } = planned
    const attempt = new RouteAttempt(this.#call, request.provider, planned, this.#health)
    return {
      attempt,
      send: signal => request.send({ credential, span: attempt.span, signal })
    }
  }

  #requestTo (route: Route): RouteRequest<E> {
    const request = this.#requests.get(route)
    if (request === undefined) throw new TypeError(`${route.modelId} cannot be called`)
    return request
  }
}

/** Waits between two attempts. The time counts as waiting for the provider, like that of an attempt. */
async function backOff (
  waitMs: number,
  { record, signal }: Pick<TriedCall, 'record' | 'signal'>
): Promise<void> {
  const startedAtMs = performance.now()
  try {
    await sleep(waitMs, signal)
  } finally {
    record.upstreamWaitMs += performance.now() - startedAtMs
  }
}

function modelDoesNotServe ({ modelId }: Route): GatewayError {
  return new GatewayError('model_not_found', {
    message: `The model \`${modelId}\` does not serve this endpoint.`,
    param: 'model'
  })
}
