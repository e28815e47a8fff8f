/** Types of a reservation: the amounts a call wants, the decision, and the actual usage. */

import type { Account, Unit } from './call-accounts.ts'
import type { Refusal } from '../core/key.ts'

/** An amount of one unit that a call may use. */
export interface RequestedAmount {
  /** The most it can use. */
  readonly most: number
  /** The least a strict budget must have left; it reserves between this and `most`. Default: `most`. */
  readonly least?: number | undefined
  /** The amount reserved in sums that are not strict. Default: `most`. */
  readonly usual?: number
}

/** The amounts a call may use, in addition to one request and one open call; absent units are not used. */
export type RequestedAmounts = Readonly<Partial<Record<Unit, RequestedAmount>>>

export interface ReservationRequest {
  readonly accounts: readonly Account[]
  readonly wanted: RequestedAmounts
  /** The id of the call's future usage row. If the process is killed, the row settles the reservation. */
  readonly rowId?: string
  /** Default: `admit`. */
  readonly purpose?: ReservationPurpose
  /**
   * For a call with an end user: what to do if the store does not return the user's spending in time. Absent:
   * no end user; the call waits for the store.
   */
  readonly withoutStore?: 'allow' | 'refuse'
}

/**
 * - `admit`: a new call, which any limit may refuse.
 * - `count`: a call that was admitted earlier. No limit refuses it, and it counts as neither a request nor an
 *   open call.
 * - `describe`: only reports what is left of the limits. Nothing is reserved or settled.
 */
export type ReservationPurpose = 'admit' | 'count' | 'describe'

/** The reserved amount of each unit: no more than any account has left. */
export type Granted = Readonly<Partial<Record<Unit, number>>>

/** How much of a limit per minute is left, in its unit. */
export interface RateLimitStatus {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the full limit is available. */
  readonly resetMs: number
}

/** The limits per minute of a call. If several parties have the same limit, the first party's is used. */
export type RateLimits = Readonly<Partial<Record<Unit, RateLimitStatus>>>

/** The state of a call's limits after a decision. */
export interface LimitsLeft {
  readonly rateLimits: RateLimits
  /** Used amount of each sum, in the order of `sumAccountsOf`; empty if unknown. */
  readonly used: readonly number[]
}

export interface AdmittedDecision extends LimitsLeft {
  readonly admitted: true
  /** Identifies the reservation when it is settled. */
  readonly reservation: number
  readonly granted: Granted
  /** True if the used amount of a sum could not be read. */
  readonly isUnread?: boolean
}

/** Which account refuses, and why. */
export interface AccountRefusal {
  /** Index of the account in the list of the call. */
  readonly accountIndex: number
  readonly reason: Refusal
  /** Milliseconds until a retry may succeed; 0 if waiting does not help. */
  readonly waitMs: number
  /** End of the sum's window, in Unix milliseconds. */
  readonly endMs?: number
}

export interface RefusedDecision extends LimitsLeft, AccountRefusal {
  readonly admitted: false
}

export type LimitDecision = AdmittedDecision | RefusedDecision

/** Identifies a usage row in the store. */
export interface UsageRowKey {
  readonly id: string
  readonly atMs: number
}

/** The actual usage of a call. */
export interface ActualUsage {
  /** Used amount of each unit; for requests, those beyond the reserved one. Absent units are 0. */
  readonly used: Readonly<Partial<Record<Unit, number>>>
  /** The call's usage row, which is stored soon. */
  readonly row?: UsageRowKey
}

/** The usage in a stored row, with the accounts that the call counted in. */
export interface RecordedUsage extends ActualUsage {
  readonly accounts: readonly Account[]
  readonly row: UsageRowKey
}

/** Cancels a reservation and refunds its request. */
export const cancelledUsage: ActualUsage = { used: { requests: -1 } }

/** The decision for a request that reserves nothing. */
export const nothingReserved = { admitted: true, reservation: 0, granted: {} } as const
