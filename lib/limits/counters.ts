/**
 * Counts what every limited key has used, in memory: one instance for all calls of a machine.
 *
 * A call reserves everything it may use before the provider request, all of it or nothing, and settles its
 * actual usage when it has ended. Nothing here awaits, so nothing interleaves. Objects are written without spreads, for which V8 makes
 * a hidden class each time.
 */

import { nanoUsdOf, type KeyLimits, type Limit } from '../core/key.ts'
import { fullBucket, fullInMs, remaining, take, waitMs, type Bucket } from './bucket.ts'
import { periodOf, type Holding, type Period, type Spending, type UsageRowKey } from './budget.ts'
import { PrunedMap } from '../async/pruned-map.ts'
import { addRefund, unrecordedRefunds } from './refunds.ts'

export interface ReservationRequest {
  readonly keyId: string
  readonly limits: KeyLimits
  /** An estimate. */
  readonly tokens: number
  /** The most it may cost, in billionths of a dollar. */
  readonly nanoUsd: number
  /** The least that is worth reserving when less than `nanoUsd` is left. Default: `nanoUsd`, all or nothing. */
  readonly minNanoUsd?: number | undefined
  /** True for a call that was admitted earlier and only counts now: no limit refuses it, and it is no open call. */
  readonly alreadyAdmitted?: boolean
}

/** Holds the actual usage of a call. */
export interface ActualUsage {
  readonly tokens: number
  readonly nanoUsd: number
  /** Requests to providers beyond the one that was reserved. Default 0. */
  readonly moreRequests?: number
  /** The usage record of the call, which is stored soon. */
  readonly row?: UsageRowKey
}

/** Describes how much of a limit per minute is left. */
export interface RateLimitStatus {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the limit is completely available. */
  readonly resetMs: number
}

/** Holds the limits per minute that a key has. */
export interface RateLimits {
  readonly requests?: RateLimitStatus | undefined
  readonly tokens?: RateLimitStatus | undefined
}

export type LimitDecision = { readonly rateLimits: RateLimits } & (
  /** `nanoUsd` is what was reserved of the budget. */
  | { readonly admitted: true, readonly reservation: number, readonly nanoUsd: number }
  /** `budget` and `budget_too_small` last until its period ends; `budget_reserved` may end with open calls. */
  | { readonly admitted: false, readonly reason: Limit, readonly waitMs: number }
)

type Refusal = Omit<Extract<LimitDecision, { readonly admitted: false }>, 'rateLimits'>

interface State {
  /** Those of the latest call. */
  limits: KeyLimits
  requests: Bucket
  tokens: Bucket
  openCalls: number
  /** By the kind of period: while a configuration is reloaded, workers may disagree on it. */
  readonly spendings: Map<Period['per'], Spending>
}

interface Reservation extends Pick<ReservationRequest, 'keyId' | 'limits' | 'tokens' | 'nanoUsd'> {
  /** Open calls that it counts as. */
  readonly calls: number
  /** The process that made it. */
  readonly holder: string
  /** The period of the budget that it counts in. */
  readonly period: Period | undefined
}

/** The part of a reservation that counts in a budget. */
export type BudgetPart = Pick<Reservation, 'keyId' | 'limits' | 'nanoUsd' | 'period'>

const noLimits: KeyLimits = {}

/** The time after which open calls may have ended. */
const retryAfterMs = 1000

export class LimitCounters {
  readonly #now: () => number
  /** Those of keys with open calls, or with usage that still counts. */
  readonly #states = new PrunedMap<State>(state => this.#isUnused(state))
  readonly #reservations = new Map<number, Reservation>()
  #last = 0

  /** @param now milliseconds of Unix time */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Returns the number of keys of which something is kept. */
  get keys (): number {
    return this.#states.size
  }

  /** Returns the number of unsettled reservations. */
  get open (): number {
    return this.#reservations.size
  }

  /** Returns the period of its budget that a call counts in; `undefined` without a budget. */
  periodFor ({ keyId, limits }: ReservationRequest): Period | undefined {
    return this.#spendingOf(this.#stateOf(keyId), limits, this.#now())?.period
  }

  /**
   * Sets what all processes have spent in a period, as the ledger has it. What was counted here and is
   * not in the ledger yet must not get lost: the higher of both counts, but for recent refunds. Does nothing for a period that has ended.
   *
   * @returns what counts now
   */
  setSpent (keyId: string, period: Period, spent: number): number {
    const { spendings } = this.#stateOf(keyId)
    const known = spendings.get(period.per)
    if (known === undefined || known.period.fromMs < period.fromMs) {
      spendings.set(period.per, { period, spent, reserved: 0, elsewhere: 0, refunds: undefined })
      return spent
    }
    if (known.period.fromMs > period.fromMs) return spent // read before midnight
    const counted = Math.max(known.spent, spent - unrecordedRefunds(known.refunds, this.#now()))
    spendings.set(period.per, { ...known, spent: counted })
    return counted
  }

  /** Sets how much of a budget other gateways hold, or this one has spent and not recorded, after `setSpent` of the same period. */
  setElsewhere (keyId: string, { per, fromMs }: Period, elsewhere: number): void {
    const { spendings } = this.#stateOf(keyId)
    const known = spendings.get(per)
    if (known?.period.fromMs === fromMs && known.elsewhere !== elsewhere) spendings.set(per, { ...known, elsewhere })
  }

  /** Returns what open calls of a key hold of its budget. */
  reservedOf (keyId: string, { per }: Period): number {
    return this.#stateOf(keyId).spendings.get(per)?.reserved ?? 0
  }

  /** Lists what open calls hold of budgets. */
  * holdings (): Generator<Holding, void, undefined> {
    for (const [keyId, { spendings }] of this.#states) {
      for (const { period: { fromMs }, reserved } of spendings.values()) if (reserved > 0) yield { keyId, fromMs, nanoUsd: reserved }
    }
  }

  /** Returns the key and the period that a reservation counts in. */
  budgetOf (reservation: number): Pick<Holding, 'keyId' | 'fromMs'> | undefined {
    const { keyId, period } = this.#reservations.get(reservation) ?? {}
    return keyId === undefined || period === undefined ? undefined : { keyId, fromMs: period.fromMs }
  }

  /** Reserves everything a call may use, or nothing. */
  reserve (wanted: ReservationRequest, holder = ''): LimitDecision {
    const { keyId, limits } = wanted
    const nowMs = this.#now()
    const state = this.#stateOf(keyId)
    state.limits = limits
    const tokens = Math.min(wanted.tokens, limits.tokensPerMinute ?? Infinity)
    const spending = this.#spendingOf(state, limits, nowMs)
    const refusal = wanted.alreadyAdmitted === true ? undefined : refusalOf(wanted, tokens, state, spending, nowMs)
    if (refusal !== undefined) return { ...refusal, rateLimits: statusesOf(state, limits, nowMs) }
    const calls = openCallsOf(wanted)
    this.#change(state, limits, { requests: 1, tokens, calls }, nowMs)
    const nanoUsd = grantOf(wanted, spending)
    if (spending !== undefined) {
      const { period, spent, reserved, elsewhere, refunds } = spending
      state.spendings.set(period.per, { period, spent, reserved: reserved + nanoUsd, elsewhere, refunds })
    }
    const reservation = ++this.#last
    this.#reservations.set(reservation, { keyId, limits, tokens, nanoUsd, calls, holder, period: spending?.period })
    return { admitted: true, reservation, nanoUsd, rateLimits: statusesOf(state, limits, nowMs) }
  }

  /** Replaces a reservation with the actual usage; further calls do nothing. */
  settle (reservation: number, used: ActualUsage): void {
    const reserved = this.#reservations.get(reservation)
    if (reserved === undefined) return
    this.#reservations.delete(reservation)
    const { keyId, limits, tokens, calls } = reserved
    const nowMs = this.#now()
    const state = this.#stateOf(keyId)
    this.#change(state, limits, { requests: used.moreRequests ?? 0, tokens: used.tokens - tokens, calls: -calls }, nowMs)
    this.#spend(state, reserved, used.nanoUsd, nowMs)
  }

  /**
   * Releases the reservations of a process that exited, but for their parts of budgets: its calls may have cost as much.
   *
   * @returns those parts, for `releaseBudget`
   */
  release (holder: string): BudgetPart[] {
    const nowMs = this.#now()
    const parts: BudgetPart[] = []
    for (const [id, reservation] of this.#reservations) {
      if (reservation.holder !== holder) continue
      this.#reservations.delete(id)
      const { keyId, limits, tokens, calls, period, nanoUsd } = reservation
      this.#change(this.#stateOf(keyId), limits, { requests: 0, tokens: -tokens, calls: -calls }, nowMs)
      if (period !== undefined && nanoUsd > 0) parts.push(reservation)
    }
    return parts
  }

  /** Releases what `release` has left reserved, once. */
  releaseBudget (part: BudgetPart): void {
    this.#spend(this.#stateOf(part.keyId), part, 0, this.#now())
  }

  #stateOf (keyId: string): State {
    let state = this.#states.get(keyId)
    if (state === undefined) this.#states.set(keyId, state = { limits: noLimits, requests: fullBucket, tokens: fullBucket, openCalls: 0, spendings: new Map() })
    return state
  }

  #isUnused ({ limits: { requestsPerMinute = 1, tokensPerMinute = 1 }, requests, tokens, openCalls, spendings }: State): boolean {
    const nowMs = this.#now()
    const isFull = fullInMs(requests, requestsPerMinute, nowMs) === 0 && fullInMs(tokens, tokensPerMinute, nowMs) === 0
    return openCalls === 0 && isFull && ![...spendings.values()].some(({ period }) => nowMs < period.endMs)
  }

  /** Returns the spending of the current period; a new one starts at zero. */
  #spendingOf ({ spendings }: State, { budget }: KeyLimits, nowMs: number): Spending | undefined {
    if (budget === undefined) return undefined
    const spending = spendings.get(budget.per)
    if (spending !== undefined && nowMs < spending.period.endMs) return spending
    return { period: periodOf(budget.per, nowMs), spent: 0, reserved: 0, elsewhere: 0, refunds: undefined }
  }

  /** Replaces a part of a budget with what was spent. */
  #spend (state: State, { limits, period, nanoUsd }: BudgetPart, used: number, nowMs: number): void {
    const spending = this.#spendingOf(state, limits, nowMs)
    // A reservation of an earlier period does not count in this one.
    if (spending === undefined || spending.period !== period) return
    const { spent, reserved, elsewhere } = spending
    const refunds = used < 0 ? addRefund(spending.refunds, -used, nowMs) : spending.refunds
    state.spendings.set(period.per, { period, spent: spent + used, reserved: reserved - nanoUsd, elsewhere, refunds })
  }

  #change (state: State, limits: KeyLimits, by: { requests: number, tokens: number, calls: number }, nowMs: number): void {
    const { requestsPerMinute, tokensPerMinute } = limits
    if (requestsPerMinute !== undefined) state.requests = take(state.requests, requestsPerMinute, by.requests, nowMs)
    if (tokensPerMinute !== undefined) state.tokens = take(state.tokens, tokensPerMinute, by.tokens, nowMs)
    state.openCalls += by.calls
  }
}

/** Returns how many open calls it counts as. */
function openCallsOf ({ alreadyAdmitted = false }: ReservationRequest): number {
  return alreadyAdmitted ? 0 : 1
}

/** Returns what is reserved of a budget: what is wanted, or what is left where less will do. */
function grantOf ({ limits: { budget }, nanoUsd, minNanoUsd = nanoUsd }: ReservationRequest, spending: Spending | undefined): number {
  if (budget === undefined || spending === undefined) return nanoUsd
  return Math.max(minNanoUsd, Math.min(nanoUsd, nanoUsdOf(budget) - spending.spent - spending.reserved - spending.elsewhere))
}

/** Finds the limit that refuses; the budget first, as waiting does not help there. */
function refusalOf (
  { limits, nanoUsd, minNanoUsd = nanoUsd }: ReservationRequest, tokens: number, state: State, spending: Spending | undefined, nowMs: number
): Refusal | undefined {
  const { requestsPerMinute, tokensPerMinute, concurrentCalls, budget } = limits
  if (budget !== undefined && spending !== undefined) {
    const left = nanoUsdOf(budget) - spending.spent
    if (left <= 0) return { admitted: false, reason: 'budget', waitMs: 0 }
    if (minNanoUsd > left) return { admitted: false, reason: 'budget_too_small', waitMs: 0 }
    if (minNanoUsd > left - spending.reserved - spending.elsewhere) return { admitted: false, reason: 'budget_reserved', waitMs: retryAfterMs }
  }
  if (concurrentCalls !== undefined && state.openCalls >= concurrentCalls) {
    return { admitted: false, reason: 'concurrent_calls', waitMs: retryAfterMs }
  }
  const forRequests = requestsPerMinute === undefined ? 0 : waitMs(state.requests, requestsPerMinute, 1, nowMs)
  const forTokens = tokensPerMinute === undefined ? 0 : waitMs(state.tokens, tokensPerMinute, tokens, nowMs)
  if (forRequests === 0 && forTokens === 0) return undefined
  return forRequests >= forTokens
    ? { admitted: false, reason: 'requests', waitMs: forRequests }
    : { admitted: false, reason: 'tokens', waitMs: forTokens }
}

function statusesOf ({ requests, tokens }: State, { requestsPerMinute, tokensPerMinute }: KeyLimits, nowMs: number): RateLimits {
  return {
    requests: requestsPerMinute === undefined ? undefined : statusOf(requests, requestsPerMinute, nowMs),
    tokens: tokensPerMinute === undefined ? undefined : statusOf(tokens, tokensPerMinute, nowMs)
  }
}

function statusOf (bucket: Bucket, limit: number, nowMs: number): RateLimitStatus {
  return { limit, remaining: remaining(bucket, limit, nowMs), resetMs: fullInMs(bucket, limit, nowMs) }
}
