/**
 * Limiters from the view of a key: calls of one key with its limits, in tokens and billionths of a dollar.
 */

import { limitAccountsOf, type PartyKind } from '../../lib/limits/call-accounts.ts'
import type { Holding, SumKey } from '../../lib/limits/sum-keys.ts'
import type { LimitCounters } from '../../lib/limits/counters.ts'
import type {
  LimitDecision,
  ReservationPurpose,
  ReservationRequest,
  ActualUsage,
  UsageRowKey
} from '../../lib/limits/reservation.ts'
import type { Limiter, LocalLimiter } from '../../lib/limits/limiter.ts'
import type { PartyLimits } from '../../lib/core/key.ts'

/** A call of a key. */
export interface KeyCall {
  readonly keyId: string
  readonly limits: PartyLimits
  readonly tokens: number
  readonly nanoUsd: number
  readonly minNanoUsd?: number | undefined
  readonly images?: number
  readonly purpose?: ReservationPurpose
}

export interface KeyUsage {
  readonly tokens: number
  readonly nanoUsd: number
  readonly moreRequests?: number
  readonly row?: UsageRowKey
}

/** A decision with the granted budget. */
export type KeyDecision = LimitDecision & { readonly nanoUsd?: number | undefined }

export function requestOf (
  { keyId, limits, tokens, nanoUsd, minNanoUsd, images = 0, purpose }: KeyCall,
  kind: PartyKind = 'key'
): ReservationRequest {
  return {
    accounts: limitAccountsOf([{ kind, id: keyId, limits }]),
    wanted: {
      tokens: { max: tokens },
      nanoUsd: { max: nanoUsd, min: minNanoUsd },
      images: { max: images }
    },
    ...purpose !== undefined && { purpose }
  }
}

export function usageOf ({ tokens, nanoUsd, moreRequests = 0, row }: KeyUsage): ActualUsage {
  return { used: { tokens, nanoUsd, requests: moreRequests }, ...row !== undefined && { row } }
}

export function decisionOf (decision: LimitDecision): KeyDecision {
  return decision.admitted ? { ...decision, nanoUsd: decision.granted.nanoUsd } : decision
}

/** A limiter for calls of keys. */
export class KeyLimiter<L extends Limiter> {
  readonly limiter: L

  constructor (limiter: L) {
    this.limiter = limiter
  }

  reserve (call: KeyCall): KeyDecision | Promise<KeyDecision> {
    const decision = this.limiter.reserve(requestOf(call))
    return decision instanceof Promise ? decision.then(decisionOf) : decisionOf(decision)
  }

  settle (reservation: number, usage: KeyUsage): void {
    this.limiter.settle(reservation, usageOf(usage))
  }
}

/** A limiter of this process for calls of keys, and its counters. */
export class KeyLocalLimiter extends KeyLimiter<LocalLimiter> {
  readonly counters: KeyCounters

  constructor (limiter: LocalLimiter) {
    super(limiter)
    this.counters = new KeyCounters(limiter.counters)
  }

  override reserve (call: KeyCall, holder?: string): KeyDecision | Promise<KeyDecision> {
    const decision = this.limiter.reserve(requestOf(call), holder)
    return decision instanceof Promise ? decision.then(decisionOf) : decisionOf(decision)
  }

  release (holder: string): void {
    this.limiter.release(holder)
  }

  close (): void {
    this.limiter.close()
  }
}

export class KeyCounters {
  readonly counters: LimitCounters

  constructor (counters: LimitCounters) {
    this.counters = counters
  }

  get open (): number {
    return this.counters.open
  }

  get size (): number {
    return this.counters.size
  }

  reserve (call: KeyCall, holder?: string): KeyDecision {
    return decisionOf(this.counters.reserve(requestOf(call), holder))
  }

  settle (reservation: number, usage: KeyUsage): void {
    this.counters.settle(reservation, usageOf(usage))
  }

  release (holder: string): SumKey[] {
    return this.counters.release(holder)
  }

  releaseSums (holder: string): void {
    this.counters.releaseSums(holder)
  }

  holdings (): Holding[] {
    return [...this.counters.sums.holdings()]
  }
}

/** Returns the limit that refuses a call, or 'admitted'. */
export function reasonOf (decision: LimitDecision): string {
  return decision.admitted ? 'admitted' : decision.reason
}

/** Returns a generator of integers below a bound, the same for a seed. */
export function randomFrom (seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}
