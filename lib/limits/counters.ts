/**
 * What every limited key has used, in memory: one place for all calls of a machine.
 *
 * A call reserves everything it may use before a provider is asked, all of it or nothing, and
 * settles what it did use when it has ended. Nothing here awaits, so nothing comes between.
 */

import { nanoUsdOf, type KeyLimits, type Limit } from '../core/key.ts'
import { fullBucket, fullInMs, remaining, take, waitMs, type Bucket } from './bucket.ts'
import { periodOf, type Period, type Spending } from './budget.ts'

export interface Wanted {
  readonly keyId: string
  readonly limits: KeyLimits
  /** A guess. */
  readonly tokens: number
  /** A guess, in billionths of a dollar. */
  readonly nanoUsd: number
  /** True for what was let in before and only counts now: no limit stands in its way, and it takes no place among the calls under way. */
  readonly alreadyAdmitted?: boolean
}

/** What a call did use. */
export interface Used {
  readonly tokens: number
  readonly nanoUsd: number
}

/** How far a limit per minute is used up. */
export interface Room {
  readonly limit: number
  readonly remaining: number
  /** Until nothing of it is used. */
  readonly resetMs: number
}

/** Of the limits that a key has. */
export interface Rooms {
  readonly requests?: Room
  readonly tokens?: Room
}

export type Verdict = { readonly rooms: Rooms } & (
  | { readonly admitted: true, readonly reservation: number }
  /** `budget` will not be better before its period ends; `reserved` may be when calls under way end. */
  | { readonly admitted: false, readonly reason: Limit, readonly waitMs: number }
)

type Refusal = Omit<Extract<Verdict, { readonly admitted: false }>, 'rooms'>

interface State {
  requests: Bucket
  tokens: Bucket
  openCalls: number
  spending?: Spending
}

interface Reservation extends Wanted {
  /** Who made it. */
  readonly holder: string
  /** The period of the budget that it counts in. */
  readonly period: Period | undefined
}

/** When calls under way may have ended. */
const retryAfterMs = 1000

export class LimitCounters {
  readonly #now: () => number
  readonly #states = new Map<string, State>()
  readonly #reservations = new Map<number, Reservation>()
  #last = 0

  /** @param now whole milliseconds of Unix time */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Reservations that are not settled. */
  get open (): number {
    return this.#reservations.size
  }

  /** The period of a budget whose spending before now nobody has told yet. */
  unknownPeriod ({ keyId, limits: { budget } }: Wanted): Period | undefined {
    if (budget === undefined) return undefined
    const { spending } = this.#stateOf(keyId)
    return spending?.period.per === budget.per ? undefined : periodOf(budget.per, this.#now())
  }

  /** Tells what was spent in a period before this process began to count. */
  learn (keyId: string, period: Period, spent: number): void {
    this.#stateOf(keyId).spending = { period, spent, reserved: 0 }
  }

  /** Sets everything aside that a call may use, or nothing. */
  reserve (wanted: Wanted, holder = ''): Verdict {
    const { keyId, limits } = wanted
    const nowMs = this.#now()
    const state = this.#stateOf(keyId)
    const given = { ...wanted, tokens: Math.min(wanted.tokens, limits.tokensPerMinute ?? Infinity) }
    const spending = this.#spendingOf(state, limits, nowMs)
    const refusal = wanted.alreadyAdmitted === true ? undefined : refusalOf(given, state, spending, nowMs)
    if (refusal !== undefined) return { ...refusal, rooms: roomsOf(state, limits, nowMs) }
    this.#change(state, limits, { requests: 1, tokens: given.tokens, calls: openCallsOf(given) }, nowMs)
    if (spending !== undefined) state.spending = { ...spending, reserved: spending.reserved + given.nanoUsd }
    const reservation = ++this.#last
    this.#reservations.set(reservation, { ...given, holder, period: spending?.period })
    return { admitted: true, reservation, rooms: roomsOf(state, limits, nowMs) }
  }

  /** Puts what was used in the place of what was reserved; once, further times do nothing. */
  settle (reservation: number, used: Used): void {
    const reserved = this.#reservations.get(reservation)
    if (reserved === undefined) return
    this.#reservations.delete(reservation)
    const { keyId, limits, tokens, nanoUsd, period } = reserved
    const nowMs = this.#now()
    const state = this.#stateOf(keyId)
    this.#change(state, limits, { requests: 0, tokens: used.tokens - tokens, calls: -openCallsOf(reserved) }, nowMs)
    const spending = this.#spendingOf(state, limits, nowMs)
    // What belongs to a period that is over is of no interest any more.
    if (spending === undefined || spending.period !== period) return
    state.spending = { ...spending, spent: spending.spent + used.nanoUsd, reserved: spending.reserved - nanoUsd }
  }

  /** Gives back what a process held that has died. */
  release (holder: string): void {
    for (const [id, reservation] of this.#reservations) {
      if (reservation.holder === holder) this.settle(id, { tokens: 0, nanoUsd: 0 })
    }
  }

  #stateOf (keyId: string): State {
    let state = this.#states.get(keyId)
    if (state === undefined) this.#states.set(keyId, state = { requests: fullBucket, tokens: fullBucket, openCalls: 0 })
    return state
  }

  /** Of the period that is now: a new one begins with nothing. */
  #spendingOf ({ spending }: State, { budget }: KeyLimits, nowMs: number): Spending | undefined {
    if (budget === undefined) return undefined
    if (spending?.period.per === budget.per && nowMs < spending.period.endMs) return spending
    return { period: periodOf(budget.per, nowMs), spent: 0, reserved: 0 }
  }

  #change (state: State, limits: KeyLimits, by: { requests: number, tokens: number, calls: number }, nowMs: number): void {
    const { requestsPerMinute, tokensPerMinute } = limits
    if (requestsPerMinute !== undefined) state.requests = take(state.requests, requestsPerMinute, by.requests, nowMs)
    if (tokensPerMinute !== undefined) state.tokens = take(state.tokens, tokensPerMinute, by.tokens, nowMs)
    state.openCalls += by.calls
  }
}

/** Among the calls under way. */
function openCallsOf ({ alreadyAdmitted: letIn = false }: Wanted): number {
  return letIn ? 0 : 1
}

/** The limit that stands in the way; that of the budget first, as waiting does not help there. */
function refusalOf (
  { limits, tokens, nanoUsd }: Wanted, state: State, spending: Spending | undefined, nowMs: number
): Refusal | undefined {
  const { requestsPerMinute, tokensPerMinute, concurrentCalls, budget } = limits
  if (budget !== undefined && spending !== undefined) {
    const left = nanoUsdOf(budget) - spending.spent
    if (left <= 0 || nanoUsd > left) return { admitted: false, reason: 'budget', waitMs: 0 }
    if (nanoUsd > left - spending.reserved) return { admitted: false, reason: 'reserved', waitMs: retryAfterMs }
  }
  if (concurrentCalls !== undefined && state.openCalls >= concurrentCalls) {
    return { admitted: false, reason: 'calls', waitMs: retryAfterMs }
  }
  const forRequests = requestsPerMinute === undefined ? 0 : waitMs(state.requests, requestsPerMinute, 1, nowMs)
  const forTokens = tokensPerMinute === undefined ? 0 : waitMs(state.tokens, tokensPerMinute, tokens, nowMs)
  if (forRequests === 0 && forTokens === 0) return undefined
  return forRequests >= forTokens
    ? { admitted: false, reason: 'requests', waitMs: forRequests }
    : { admitted: false, reason: 'tokens', waitMs: forTokens }
}

function roomsOf ({ requests, tokens }: State, { requestsPerMinute, tokensPerMinute }: KeyLimits, nowMs: number): Rooms {
  return {
    ...requestsPerMinute !== undefined && { requests: roomOf(requests, requestsPerMinute, nowMs) },
    ...tokensPerMinute !== undefined && { tokens: roomOf(tokens, tokensPerMinute, nowMs) }
  }
}

function roomOf (bucket: Bucket, limit: number, nowMs: number): Room {
  return { limit, remaining: remaining(bucket, limit, nowMs), resetMs: fullInMs(bucket, limit, nowMs) }
}
