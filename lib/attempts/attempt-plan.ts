/**
 * Decides which route a call tries next, and how long it waits before that.
 *
 * First, every route is tried once without a wait, in order, with routes that are cooling down last; another
 * credential of the provider replaces a refused one. Then the routes that failed transiently are tried again,
 * in rounds, the one with the shortest wait first. Each of these retries takes from the retry budget of its
 * provider. So does a fallback, unless the last failure does not suggest overload, such as a refused
 * credential or an unknown model. Trying another credential takes nothing; a hedge takes from its own budget.
 */

import type { CallSession } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import { isOfCredential, type CredentialPool } from '../routing/credential-pool.ts'
import type { Cooldown, RoutingState } from '../routing/routing-state.ts'

/** Attempts of one call, over all its routes. */
const maxAttempts = 16
/** Sum of the waits of one call. Longer waits are left to the caller, who gets `retry-after`. */
const maxWaitMs = 20_000
const initialBackoffMs = 250
const maxBackoffMs = 4000

export interface PlannedAttempt {
  readonly route: Route
  readonly waitMs: number
  /** True for another attempt at a model that has failed. A reconnect is not one. */
  readonly isRetry: boolean
  /** The index of the provider's credential to use; `undefined` if the provider has only one. */
  readonly credentialIndex: number | undefined
}

export interface AttemptPlanOptions {
  readonly keyId: string
  /** Returns how often a route may be retried. */
  readonly retries: (route: Route) => number
  /** Returns the index of the credential with which a route is tried first. Default: the pool chooses. */
  readonly credentialIndex?: (route: Route) => number | undefined
  /** The session of the call, which keeps its credential. Default: none. */
  readonly session?: CallSession | undefined
  /** As in `CallAttemptsOptions`. Default: false. */
  readonly usesFirstCredential?: boolean
  /** Called with the reason for each route that is skipped or postponed. */
  readonly onSkip: (route: Route, reason: Cooldown['reason'] | 'retry_budget_exhausted') => void
}

interface TriedRoute {
  readonly route: Route
  /** Attempts so far; 0 if the retry budget did not allow one, or if a hedge found the route cooling down. */
  readonly attempts: number
}

/** The plan of one call. Call `first`, then after each failure `reconnect` and, without a result, `next`. */
export class AttemptPlan {
  readonly #state: RoutingState
  readonly #options: AttemptPlanOptions
  readonly #candidates: Iterator<Route, void, undefined>
  /** To be retried, or to be tried for the first time where the budget did not allow it before. */
  readonly #failed: TriedRoute[] = []
  #last: TriedRoute | undefined
  /** Models whose stale socket has been replaced. */
  #reconnected: Set<string> | undefined
  /** Used credentials, by provider. */
  #tried: Map<string, Set<number>> | undefined
  #credentialIndex: number | undefined
  #attempts = 0
  #waitedMs = 0

  constructor (routes: readonly Route[], state: RoutingState, options: AttemptPlanOptions) {
    this.#state = state
    this.#options = options
    const onSkip = (route: Route, { reason }: Cooldown): void => options.onSkip(route, reason)
    this.#candidates = routes.length < 2 ? routes.values() : state.candidates(routes, options.keyId, onSkip)
  }

  /** Returns the first attempt, or `undefined` if there is no route. */
  first (): PlannedAttempt | undefined {
    const { value: route } = this.#candidates.next()
    if (!route) return undefined
    return this.#start({ route, attempts: 1 }, 0)
  }

  /** Returns the same attempt again, once per model, if only a stale socket made it fail. */
  reconnect (failure: GatewayError): PlannedAttempt | undefined {
    const route = this.#last?.route
    if (
      route === undefined ||
      this.#attempts >= maxAttempts ||
      this.#reconnected?.has(route.modelId) === true
    ) {
      return undefined
    }
    if (!this.#state.retryBudget(route.providerId).takeStaleSocket(failure)) return undefined
    this.#reconnected = (this.#reconnected ?? new Set()).add(route.modelId)
    this.#attempts++
    return { route, waitMs: 0, isRetry: false, credentialIndex: this.#credentialIndex }
  }

  /** Returns the attempt after a failed one, or `undefined` if the call has failed. */
  next ({
    fault,
    acceptedByProvider
  }: Pick<GatewayError, 'fault' | 'acceptedByProvider'>): PlannedAttempt | undefined {
    const last = this.#last
    const another =
      last !== undefined && isOfCredential({ fault }) && this.#attempts < maxAttempts
        ? this.#nextCredential(last)
        : undefined
    if (another !== undefined) return another
    const isTransient = fault === 'transient' || fault === 'rate_limit'
    // A provider that has accepted a request will charge for it: the same request is not sent again.
    if (
      last !== undefined &&
      isTransient &&
      acceptedByProvider !== true &&
      last.attempts <= this.#options.retries(last.route)
    ) {
      this.#failed.push(last)
    }
    if (this.#attempts >= maxAttempts) return undefined
    return this.#fallback(isTransient) ?? this.#retry()
  }

  /**
   * Plans the same model with another credential. It takes nothing from the retry budget, since a failed
   * credential says nothing about the provider's load.
   */
  #nextCredential (last: TriedRoute): PlannedAttempt | undefined {
    const { providerId } = last.route
    const tried = this.#tried?.get(providerId) ?? new Set()
    const credentialIndex = this.#poolOf(last.route)?.another(tried, this.#options.keyId)
    return credentialIndex === undefined ? undefined : this.#start(last, 0, credentialIndex)
  }

  /**
   * Plans a hedge alongside the attempt in flight: the next route, unless it is cooling down. A hedge that
   * fails is not repeated.
   */
  hedge (): PlannedAttempt | undefined {
    if (this.#attempts >= maxAttempts) return undefined
    const { value: route } = this.#candidates.next()
    if (!route) return undefined
    if (this.#state.cooldown(route, this.#options.keyId) !== undefined) {
      this.#failed.push({ route, attempts: 0 })
      return undefined
    }
    this.#attempts++
    return { route, waitMs: 0, isRetry: false, credentialIndex: this.#credentialFor(route) }
  }

  /** @param takesFromBudget false if the last failure does not suggest overload */
  #fallback (takesFromBudget: boolean): PlannedAttempt | undefined {
    for (let { value: route } = this.#candidates.next(); route; { value: route } = this.#candidates.next()) {
      if (!takesFromBudget || this.#state.retryBudget(route.providerId).take()) {
        return this.#start({ route, attempts: 1 }, 0)
      }
      this.#options.onSkip(route, 'retry_budget_exhausted')
      this.#failed.push({ route, attempts: 0 }) // by then, answers may have refilled it
    }
    return undefined
  }

  #retry (): PlannedAttempt | undefined {
    const due = this.#failed
      .map(failed => ({ failed, waitMs: this.#waitFor(failed) }))
      .toSorted((a, b) => a.waitMs - b.waitMs)
    for (const {
      failed: { route, attempts },
      waitMs
    } of due) {
      if (this.#waitedMs + waitMs > maxWaitMs) return undefined
      if (!this.#state.retryBudget(route.providerId).take()) continue
      this.#failed.splice(this.#failed.findIndex(failed => failed.route === route), 1)
      return this.#start({ route, attempts: attempts + 1 }, waitMs)
    }
    return undefined
  }

  /** Returns the delay from `retry-after`, or an exponential backoff with jitter. */
  #waitFor ({ route, attempts }: TriedRoute): number {
    const backoffMs = Math.min(
      initialBackoffMs * 2 ** (attempts - 1) * (0.75 + Math.random() / 4),
      maxBackoffMs
    )
    return Math.max(this.#state.pauseMs(route.providerId), backoffMs)
  }

  #start (attempt: TriedRoute, waitMs: number, nextCredential?: number): PlannedAttempt {
    const { route, attempts } = attempt
    this.#last = attempt
    this.#attempts++
    this.#waitedMs += waitMs
    const credentialIndex = nextCredential ?? this.#credentialFor(route)
    this.#credentialIndex = credentialIndex
    if (credentialIndex !== undefined) {
      const tried = this.#tried ??= new Map()
      tried.set(route.providerId, (tried.get(route.providerId) ?? new Set()).add(credentialIndex))
    }
    return { route, waitMs, isRetry: attempts > 1 || nextCredential !== undefined, credentialIndex }
  }

  /** Returns the index of the credential with which a route is tried first. */
  #credentialFor (route: Route): number | undefined {
    const { keyId, session, credentialIndex: preferred } = this.#options
    const pool = this.#poolOf(route)
    return pool && (preferred?.(route) ?? pool.choose(keyId, session))
  }

  /**
   * Returns the credentials to choose from; `undefined` if there is only one, or if the first one must be
   * used.
   */
  #poolOf ({ providerId }: Route): CredentialPool | undefined {
    return this.#options.usesFirstCredential === true ? undefined : this.#state.credentials(providerId)
  }
}
