/**
 * What this process knows of the providers behind its own credentials: who asked to be left alone,
 * which models fail, how soon they answer. All endpoints share one; every process has its own.
 */

import { RetryBudget } from './retry-budget.ts'
import { GatewayError } from '../core/errors.ts'
import { Breaker, firstAttempt, type Attempt } from './breaker.ts'
import { Latencies } from './latencies.ts'
import type { Route } from '../core/route.ts'

/** Models whose failures are remembered: their names come from callers, so there is no end to them. */
const mostBreakers = 1000

/** Why a route is passed over as long as there is another, and for how many milliseconds. */
export interface Cooldown {
  /** The provider asked to be left alone, or the circuit of the model is open. */
  readonly why: 'held' | 'circuit open'
  readonly forMs: number
}

/** A route whose turn has come. */
export interface Candidate {
  readonly route: Route
  /** True when there is nobody left to ask after it. */
  readonly isLast: boolean
}

export class RouteHealth {
  readonly #now: () => number
  readonly #accounts = new Map<string, RetryBudget>()
  readonly #breakers = new Map<string, Breaker>()
  /** Of whole answers and of streams: a whole one begins when it is complete. */
  readonly #latencies: { readonly whole: Latencies, readonly streamed: Latencies }

  /** @param now milliseconds of a clock that never goes back */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
    this.#latencies = { whole: new Latencies(now), streamed: new Latencies(now) }
  }

  /** The account of the gateway's credential at a provider. */
  retryBudget (providerId: string): RetryBudget {
    let account = this.#accounts.get(providerId)
    if (account === undefined) this.#accounts.set(providerId, account = new RetryBudget(this.#now))
    return account
  }

  latencies (streamed: boolean): Latencies {
    return streamed ? this.#latencies.streamed : this.#latencies.whole
  }

  /** What speaks against asking this route now; mostly nothing. */
  cooldown ({ providerId, modelId }: Route): Cooldown | undefined {
    const heldMs = this.#accounts.get(providerId)?.cooldownMs ?? 0
    if (heldMs > 0) return { why: 'held', forMs: heldMs }
    const forMs = this.#breakers.get(modelId)?.openForMs(this.#now())
    return forMs === undefined ? undefined : { why: 'circuit open', forMs }
  }

  /**
   * The routes in the order in which they are to be asked: as given, but those with a setback when
   * their turn comes are asked after all others. None is left out: what may work is never refused.
   *
   * @param passed is told of each route that another one is asked before
   */
  candidates (routes: readonly Route[], passed: (route: Route, setback: Cooldown) => void): Iterable<Candidate> {
    const [only, other] = routes
    return only !== undefined && other === undefined ? [{ route: only, isLast: true }] : this.#inTurn(routes, passed)
  }

  * #inTurn (routes: readonly Route[], passed: (route: Route, setback: Cooldown) => void): Generator<Candidate, void, undefined> {
    const waiting: Array<{ readonly route: Route, readonly setback: Cooldown }> = []
    let told = 0
    for (const [index, route] of routes.entries()) {
      const isLast = index === routes.length - 1 && waiting.length === 0
      const setback = isLast ? undefined : this.cooldown(route)
      if (setback !== undefined) {
        waiting.push({ route, setback })
        continue
      }
      for (const one of waiting.slice(told)) passed(one.route, one.setback)
      told = waiting.length
      yield { route, isLast }
    }
    for (const [index, { route }] of waiting.entries()) yield { route, isLast: index === waiting.length - 1 }
  }

  /** Must be followed by `ended`, whatever happens. */
  begin ({ modelId }: Route): Attempt {
    return this.#breakers.get(modelId)?.begin(this.#now()) ?? firstAttempt
  }

  /** @param ms since the attempt began */
  answered (route: Route, attempt: Attempt, streamed: boolean, ms: number): void {
    this.#breakers.get(route.modelId)?.succeeded(attempt, this.#now())
    if (route.ranked?.by === 'first byte') this.latencies(streamed).note(route.modelId, ms)
  }

  /** What callers did wrong, and what is wrong with a credential, says nothing about the model. */
  failed ({ modelId }: Route, attempt: Attempt, { failure }: GatewayError): void {
    if (failure === 'transient') this.#breaker(modelId).failed(attempt, this.#now())
  }

  /** The answer to an attempt that had succeeded was cut off. */
  recordStreamFailure ({ modelId }: Route, error: unknown): void {
    if (error instanceof GatewayError && error.failure === 'transient') this.#breaker(modelId).recordStreamFailure(this.#now())
  }

  ended ({ modelId }: Route, attempt: Attempt): void {
    this.#breakers.get(modelId)?.ended(attempt)
  }

  /** Of every model that has failed of late: its id, and whether its circuit is open. */
  * circuits (): Generator<readonly [modelId: string, isOpen: boolean], void, undefined> {
    for (const [modelId, { isOpen }] of this.#breakers) yield [modelId, isOpen]
  }

  /** Only models that have failed have one. */
  #breaker (modelId: string): Breaker {
    let breaker = this.#breakers.get(modelId)
    if (breaker !== undefined) return breaker
    this.#breakers.set(modelId, breaker = new Breaker())
    if (this.#breakers.size > mostBreakers) {
      const [oldest = ''] = this.#breakers.keys()
      this.#breakers.delete(oldest)
    }
    return breaker
  }
}
