/** The types of a reservation: what a call may use, the decision on it, and what it used in the end. */

import type { Account, Unit } from './call-accounts.ts'
import type { Refusal } from '../core/key.ts'

/** An amount of a unit that a call may use. */
export interface Wanted {
  /** What it uses at most. */
  readonly most: number
  /** What a strict budget must have left: between this and `most` is reserved. Default: `most`. */
  readonly least?: number | undefined
  /** What a sum that is not strict reserves. Default: `most`. */
  readonly usual?: number
}

/** What a call may use of each unit, beside one request and one open call; absent means nothing. */
export type WantedAmounts = Readonly<Partial<Record<Unit, Wanted>>>

export interface ReservationRequest {
  readonly accounts: readonly Account[]
  readonly wanted: WantedAmounts
  /**
   * The id of the usage row that the call will have: it settles the reservation of a process that was
   * killed.
   */
  readonly rowId?: string
  /** Default: `admit`. */
  readonly purpose?: ReservationPurpose
  /**
   * Of a call that counts in parties which it names: says what happens where the store does not say in time
   * what its end user has spent. Absent: it has none, and waits for the store.
   */
  readonly withoutStore?: 'allow' | 'refuse'
}

/**
 * - `admit`: a new call, which any limit may refuse.
 * - `count`: a call that was admitted earlier. No limit refuses it, and it is no request and no open call.
 * - `describe`: only says what is left of the limits. Nothing is reserved, and there is nothing to settle.
 */
export type ReservationPurpose = 'admit' | 'count' | 'describe'

/** The amounts that were reserved of each unit, at most as much as any account has left. */
export type Granted = Readonly<Partial<Record<Unit, number>>>

/** Describes how much of a limit per minute is left, in its unit. */
export interface RateLimitStatus {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the limit is completely available. */
  readonly resetMs: number
}

/** The limits per minute that hold for a call: of parties that have the same one, the first's. */
export type RateLimits = Readonly<Partial<Record<Unit, RateLimitStatus>>>

/** The limits of a call as a decision on it leaves them. */
export interface LimitsLeft {
  readonly rateLimits: RateLimits
  /** What was used of each of the sums (`sumAccountsOf`), in their order; empty where that is not known. */
  readonly used: readonly number[]
}

export interface AdmittedDecision extends LimitsLeft {
  readonly admitted: true
  /** Names the reservation for its settlement. */
  readonly reservation: number
  readonly granted: Granted
  /** True where the store has not said what was used of a sum. */
  readonly isUnread?: boolean
}

/** Says which account refuses, and why. */
export interface AccountRefusal {
  /** The place of the account in the list of the call. */
  readonly accountIndex: number
  readonly reason: Refusal
  /** Milliseconds after which to try again; 0 where waiting does not help. */
  readonly waitMs: number
  /** The end of the window of a sum, in Unix milliseconds. */
  readonly endMs?: number
}

export interface RefusedDecision extends LimitsLeft, AccountRefusal {
  readonly admitted: false
}

export type LimitDecision = AdmittedDecision | RefusedDecision

/** Finds a usage row in the store. */
export interface UsageRowKey {
  readonly id: string
  readonly atMs: number
}

/** The actual usage of a call. */
export interface ActualUsage {
  /** Of each unit, requests beyond the one that was reserved; absent means nothing. */
  readonly used: Readonly<Partial<Record<Unit, number>>>
  /** The usage row of the call, which is stored soon. */
  readonly row?: UsageRowKey
}

/** What the usage row of a call says that it used, with the accounts that the call counted in. */
export interface RecordedUsage extends ActualUsage {
  readonly accounts: readonly Account[]
  readonly row: UsageRowKey
}

/** Cancels a reservation, and gives back its request. */
export const undoReservation: ActualUsage = { used: { requests: -1 } }

/** The decision on a request that reserves nothing. */
export const nothingReserved = { admitted: true, reservation: 0, granted: {} } as const
