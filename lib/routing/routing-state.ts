/**
 * What this process remembers of earlier calls to choose and try routes: how providers have done with the
 * gateway's credentials (rate limits, failing models, latencies), budgets of extra requests, the providers
 * that served a conversation, and the APIs that servers lack. All endpoints share one instance. Each process
 * has its own and may learn cooldowns from others.
 */

import { GatewayError } from '../core/errors.ts'
import type { Route } from '../core/route.ts'
import { initialAttempt, type Breaker } from './breaker.ts'
import { CredentialPool, isOfCredential } from './credential-pool.ts'
import { Latencies } from './latencies.ts'
import { LearnedCooldowns } from './learned-cooldowns.ts'
import { ModelCircuit, type ModelAttempt } from './model-circuit.ts'
import { ExtraRequestBudget, RetryBudget } from './request-budgets.ts'
import { ServedSessions, ToolCallOrigins } from './served-conversations.ts'
import { MissingApis } from './missing-apis.ts'
import type { SharedCooldown } from '../coordination/cooldown-exchange.ts'

/** Maximum models with a circuit; callers name models, so names are unbounded. */
const maxCircuits = 1000

/** Why a route is tried after others, and for how many milliseconds. */
export interface Cooldown {
  /** The provider limits requests, or the circuit of the model is open. */
  readonly reason: 'rate_limited' | 'circuit_open'
  readonly forMs: number
  /** The process that detected it. */
  readonly origin: 'this_process' | 'another_process'
}

export class RoutingState {
  readonly #now: () => number
  readonly #onCooldown: ((cooldown: SharedCooldown) => void) | undefined
  /** Extra requests beside slow ones. */
  hedgeBudget = new ExtraRequestBudget()
  /** Extra requests to replace streams that are too slow. */
  slowStreamBudget = new ExtraRequestBudget()
  /** The providers of tool calls in recent answers. */
  toolCalls = new ToolCallOrigins()
  /** The models that have answered sessions, for routes that are not chosen at random. */
  sessions = new ServedSessions()
  /** Servers that lack an API of their kind. Not kept across reloads, because the servers may change. */
  readonly missingApis: MissingApis
  readonly #budgets = new Map<string, RetryBudget>()
  /** Pools of providers with several credentials. */
  readonly #pools = new Map<string, CredentialPool>()
  readonly #circuits = new Map<string, ModelCircuit>()
  /** Cooldowns reported by other processes. */
  readonly #learned: LearnedCooldowns
  /** Cooldowns by key and model; names are `<key id> <model>`. */
  readonly #learnedOfKeys: LearnedCooldowns
  /** By model, pending requests of `balanced` routes. */
  #pendingByModel = new Map<string, number>()
  /** Latencies: of a stream until the first output, of a complete answer until it arrives. */
  readonly #latencies: { readonly complete: Latencies, readonly streamed: Latencies }

  /**
   * @param now returns monotonic milliseconds
   * @param onCooldown called when a cooldown begins or ends here
   */
  constructor (now: () => number = () => performance.now(), onCooldown?: (cooldown: SharedCooldown) => void) {
    this.#now = now
    this.#onCooldown = onCooldown
    this.missingApis = new MissingApis(now)
    this.#learned = new LearnedCooldowns(now)
    this.#learnedOfKeys = new LearnedCooldowns(now)
    this.#latencies = { complete: new Latencies(now), streamed: new Latencies(now) }
  }

  /**
   * Continues with the state of another instance, after a configuration reload. Both share the budgets,
   * credentials, circuits and open calls that it has, so that calls in flight under the old configuration
   * still count; latencies and the cooldowns of other processes are copied.
   *
   * @param isSame returns whether a provider is still the same server with the same credential
   */
  adopt (before: RoutingState, isSame: (providerId: string) => boolean): void {
    this.toolCalls = before.toolCalls
    this.sessions = before.sessions
    this.hedgeBudget = before.hedgeBudget
    this.slowStreamBudget = before.slowStreamBudget
    this.#pendingByModel = before.#pendingByModel
    for (const [providerId, budget] of before.#budgets) {
      if (isSame(providerId)) this.#budgets.set(providerId, budget)
    }
    for (const [providerId, pool] of before.#pools) if (isSame(providerId)) this.#pools.set(providerId, pool)
    for (const [modelId, circuit] of before.#circuits) {
      if (isSame(providerOf(modelId))) this.#circuits.set(modelId, circuit)
    }
    this.#learned.adopt(before.#learned, name => isSame(providerOf(name)))
    this.#learnedOfKeys.adopt(before.#learnedOfKeys, name =>
      isSame(providerOf(name.slice(name.indexOf(' ') + 1)))
    )
    this.#latencies.complete.adopt(before.#latencies.complete, isSame)
    this.#latencies.streamed.adopt(before.#latencies.streamed, isSame)
  }

  /**
   * Returns the state for a call with the caller's own key: nothing is known of its account, and its extra
   * requests count with those of all calls.
   */
  ofCallerKey (): RoutingState {
    const state = new RoutingState(this.#now)
    state.hedgeBudget = this.hedgeBudget
    state.slowStreamBudget = this.slowStreamBudget
    return state
  }

  /** Registers the credentials of a provider that has several, by their weights. */
  addCredentials (providerId: string, weights: readonly number[]): void {
    const pool = this.#pools.get(providerId)
    if (pool === undefined) this.#pools.set(providerId, new CredentialPool(weights, this.#now))
    else pool.weigh(weights)
  }

  /** Returns the credentials of a provider that has several. */
  credentials (providerId: string): CredentialPool | undefined {
    return this.#pools.get(providerId)
  }

  /** Milliseconds for which no model of a provider should be called. */
  pauseMs (providerId: string): number {
    return Math.max(this.#ownPauseMs(providerId), this.#learned.forMs(providerId))
  }

  #ownPauseMs (providerId: string): number {
    return Math.max(
      this.#budgets.get(providerId)?.cooldownMs ?? 0,
      this.#pools.get(providerId)?.cooldownMs ?? 0
    )
  }

  /** Returns the budget of the gateway's credentials at a provider. */
  retryBudget (providerId: string): RetryBudget {
    let budget = this.#budgets.get(providerId)
    if (budget === undefined) this.#budgets.set(providerId, budget = new RetryBudget(this.#now))
    return budget
  }

  latencies (streamed: boolean): Latencies {
    return streamed ? this.#latencies.streamed : this.#latencies.complete
  }

  /** Returns why a route should be tried later for calls of a key; usually `undefined`. */
  cooldown (
    { providerId, modelId }: Pick<Route, 'providerId' | 'modelId'>,
    keyId: string
  ): Cooldown | undefined {
    return this.#pause(providerId) ?? this.#openCircuit(modelId, keyId)
  }

  #pause (providerId: string): Cooldown | undefined {
    const forMs = this.pauseMs(providerId)
    return forMs === 0
      ? undefined
      : {
          reason: 'rate_limited',
          forMs,
          origin: this.#ownPauseMs(providerId) > 0 ? 'this_process' : 'another_process'
        }
  }

  #openCircuit (modelId: string, keyId: string): Cooldown | undefined {
    const ownMs = this.#circuits.get(modelId)?.openForMs(keyId, this.#now())
    if (ownMs !== undefined) return { reason: 'circuit_open', forMs: ownMs, origin: 'this_process' }
    const forMs = Math.max(this.#learned.forMs(modelId), this.#learnedOfKeys.forMs(`${keyId} ${modelId}`))
    return forMs === 0 ? undefined : { reason: 'circuit_open', forMs, origin: 'another_process' }
  }

  /** Yields all current cooldowns of providers and models for calls of a key. */
  * cooldowns (keyId: string): Generator<readonly [name: string, cooldown: Cooldown], void, undefined> {
    const learned = this.#learned.names()
    const providers = new Set([
      ...this.#budgets.keys(),
      ...this.#pools.keys(),
      ...learned.filter(name => !name.includes('/'))
    ])
    const learnedOfKey = this.#learnedOfKeys
      .names()
      .filter(name => name.startsWith(`${keyId} `))
      .map(name => name.slice(keyId.length + 1))
    const models = new Set([
      ...this.#circuits.keys(),
      ...learned.filter(name => name.includes('/')),
      ...learnedOfKey
    ])
    for (const [names, cooldownOf] of [
      [providers, (name: string) => this.#pause(name)],
      [models, (name: string) => this.#openCircuit(name, keyId)]
    ] as const) {
      for (const name of names) {
        const cooldown = cooldownOf(name)
        if (cooldown !== undefined) yield [name, cooldown]
      }
    }
  }

  /** Applies a cooldown of another process. @param origin the name of that process */
  learn ({ providerId, modelId, keyId, credential, forMs, failingMs }: SharedCooldown, origin: string): void {
    if (keyId !== undefined) this.#learnedOfKeys.learn(`${keyId} ${modelId}`, forMs, failingMs, origin)
    else if (credential === undefined) this.#learned.learn(modelId ?? providerId, forMs, failingMs, origin)
    else this.#pools.get(providerId)?.rest(credential, forMs)
  }

  /**
   * Yields the routes in the order to try: as given, but routes that are cooling down when reached come last.
   * No route is left out.
   *
   * @param keyId the calling key
   * @param onSkip called for each route that is moved back
   */
  * candidates (
    routes: readonly Route[],
    keyId: string,
    onSkip: (route: Route, cooldown: Cooldown) => void
  ): Generator<Route, void, undefined> {
    const waiting: Array<{ readonly route: Route, readonly cooldown: Cooldown }> = []
    let reported = 0
    for (const [index, route] of routes.entries()) {
      const isLast = index === routes.length - 1 && waiting.length === 0
      const cooldown = isLast ? undefined : this.cooldown(route, keyId)
      if (cooldown !== undefined) {
        waiting.push({ route, cooldown })
        continue
      }
      for (const skipped of waiting.slice(reported)) onSkip(skipped.route, skipped.cooldown)
      reported = waiting.length
      yield route
    }
    for (const { route } of waiting) yield route
  }

  /** Starts an attempt; `ended` must always follow. */
  begin ({ modelId, ranked }: Route, keyId: string): ModelAttempt {
    if (ranked?.by === 'load') this.#pendingByModel.set(modelId, this.waiting(modelId) + 1)
    const circuit = this.#circuits.get(modelId)
    return circuit?.begin(keyId, this.#now()) ?? { keyId, all: initialAttempt, own: initialAttempt }
  }

  /** @param ms since the attempt began */
  succeeded (route: Route, attempt: ModelAttempt, streamed: boolean, ms: number): void {
    this.retryBudget(route.providerId).onAnswer()
    const circuit = this.#circuits.get(route.modelId)
    if (circuit !== undefined) {
      this.#change(route, circuit, attempt.keyId, () => circuit.succeeded(attempt, this.#now()))
    }
    if (this.#onCooldown !== undefined) {
      const begunMs = this.#now() - ms
      for (const name of [route.providerId, route.modelId]) this.#learned.recordSuccess(name, begunMs)
      this.#learnedOfKeys.recordSuccess(`${attempt.keyId} ${route.modelId}`, begunMs)
    }
    if (route.ranked?.by === 'first_byte' || route.ranked?.by === 'load') {
      this.latencies(streamed).note(route.modelId, ms)
    }
  }

  /**
   * An error of a credential rests the credential, a rate limit the provider. Only transient errors count
   * against the model.
   *
   * @param credential index of the one used, if there are several
   */
  failed (route: Route, attempt: ModelAttempt, failure: GatewayError, credential?: number): void {
    const { modelId, providerId } = route
    const pool = credential !== undefined && isOfCredential(failure) ? this.#pools.get(providerId) : undefined
    const budget = this.retryBudget(providerId)
    budget.onFailure(failure, pool === undefined)
    if (credential !== undefined && pool !== undefined) {
      const forMs = pool.onFailure(credential, failure, attempt.keyId)
      if (forMs > 0) this.#onCooldown?.({ providerId, credential, forMs, failingMs: 0 })
    } else if (budget.cooldownMs > 0) {
      this.#onCooldown?.({ providerId, forMs: budget.cooldownMs, failingMs: 0 })
    }
    if (failure.fault !== 'transient') return
    const circuit = this.#circuit(modelId)
    this.#change(route, circuit, attempt.keyId, () => circuit.failed(attempt, this.#now()))
  }

  /** Changes the circuits of a model, and reports those that opened or closed. */
  #change (
    { providerId, modelId }: Pick<Route, 'providerId' | 'modelId'>,
    circuit: ModelCircuit,
    keyId: string,
    change: () => void
  ): void {
    const before = { all: circuit.all.generation, own: circuit.own(keyId)?.generation ?? 0 }
    change()
    if (circuit.all.generation !== before.all) this.#report({ providerId, modelId }, circuit.all)
    const own = circuit.own(keyId)
    if (own !== undefined && own.generation !== before.own) this.#report({ providerId, modelId, keyId }, own)
  }

  #report (name: Pick<SharedCooldown, 'providerId' | 'modelId' | 'keyId'>, breaker: Breaker): void {
    const nowMs = this.#now()
    this.#onCooldown?.({
      ...name,
      forMs: breaker.openForMs(nowMs) ?? 0,
      failingMs: nowMs - breaker.failingSinceMs
    })
  }

  /** Turns a successful attempt into a failure, because its answer was cut off. */
  recordStreamFailure (route: Route, keyId: string, error: unknown): void {
    if (!(error instanceof GatewayError && error.fault === 'transient')) return
    const circuit = this.#circuit(route.modelId)
    this.#change(route, circuit, keyId, () => circuit.recordStreamFailure(keyId, this.#now()))
  }

  ended ({ modelId, ranked }: Route, attempt: ModelAttempt): void {
    this.#circuits.get(modelId)?.ended(attempt)
    if (ranked?.by !== 'load') return
    const waiting = this.waiting(modelId) - 1
    if (waiting > 0) this.#pendingByModel.set(modelId, waiting)
    else this.#pendingByModel.delete(modelId)
  }

  /** Returns the number of requests to a model of a `balanced` route that wait for their first byte. */
  waiting (modelId: string): number {
    return this.#pendingByModel.get(modelId) ?? 0
  }

  /** Yields every model that failed recently, and whether its circuit is open for all keys or one. */
  * circuits (): Generator<readonly [modelId: string, isOpen: boolean], void, undefined> {
    for (const [modelId, { isOpen }] of this.#circuits) yield [modelId, isOpen]
  }

  /** Returns the circuits of a model; only models that have failed have any. */
  #circuit (modelId: string): ModelCircuit {
    let circuit = this.#circuits.get(modelId)
    if (circuit !== undefined) return circuit
    this.#circuits.set(modelId, circuit = new ModelCircuit())
    if (this.#circuits.size > maxCircuits) {
      const [oldest = ''] = this.#circuits.keys()
      this.#circuits.delete(oldest)
    }
    return circuit
  }
}

/** Returns the provider part of a name, which may be a provider itself. */
function providerOf (name: string): string {
  const slash = name.indexOf('/')
  return slash === -1 ? name : name.slice(0, slash)
}
