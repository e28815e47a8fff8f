/**
 * What a call reserves in its accounts, and what it settles there once it has ended: the types, and the
 * rules that counters in memory and in Redis follow.
 *
 * ```
 *  call-accounts: its limits ─┐
 *                             ├→ reservation-plan → reserve → the call → settle → the usage row in the ledger
 *  estimate: what it may use ─┘                        ↑                                       │
 *                                                  counters ←── spending-reader: used amounts ─┘
 * ```
 *
 * `limiter` decides in this process, by its `counters`; `worker-limiter` asks the primary process;
 * `redis-limiter` decides for all machines, by `redis-counters`. `gateway/usage-recorder` settles.
 * `docs/budgets.md` has an example with numbers.
 */

import { recordedNonTokenUnits, type NonTokenColumn } from '../../schemas/billed-units.ts'
import {
  isPerCall,
  limitAccountsOf,
  limitedParties,
  type Account,
  type RateOrConcurrencyAccount,
  type SumAccount,
  type Unit
} from './call-accounts.ts'
import type { ApiKey, PartyLimits, LimitRefusal } from '../core/key.ts'
import type { NamedBudgets } from './named-budgets.ts'
import type { Period } from './windows.ts'
import type { UsageRow } from '../stores/tables.ts'

/** An amount of one unit that a call may use. */
export interface RequestedAmount {
  /** The most it can use; for limits of tokens, what such a call usually uses. */
  readonly max: number
  /** The least a strict budget must have left; it reserves between this and `max`. Default: `max`. */
  readonly min?: number | undefined
  /** The amount reserved in sums that are not strict. Default: `max`. */
  readonly typical?: number
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

/** The granted amount of each unit: what was wanted, or less where a strict budget has less left. */
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
  /** Used amount of each sum, in the order of their accounts; empty if unknown. */
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
  readonly reason: LimitRefusal
  /** Milliseconds until a retry may succeed; 0 if waiting does not help. */
  readonly waitMs: number
  /** End of the sum's window, in Unix milliseconds; absent if it never ends. JSON has no `Infinity`. */
  readonly endMs?: number
}

export interface RefusedDecision extends LimitsLeft, AccountRefusal {
  readonly admitted: false
}

export type LimitDecision = AdmittedDecision | RefusedDecision

/** The decision for a request that reserves nothing. */
export const nothingReserved = { admitted: true, reservation: 0, granted: {} } as const

/** Returns the most that is wanted of each unit. */
export function maxRequested (wanted: RequestedAmounts): Partial<Record<Unit, number>> {
  const amounts: Partial<Record<Unit, number>> = {}
  for (const [unit, { max }] of Object.entries(wanted)) amounts[unit as Unit] = max // its keys are units
  return amounts
}

/** Returns the most and the least that a call reserves of a sum. */
export function requestedOfSum (
  { unit, strict }: SumAccount,
  wanted: RequestedAmounts
): { readonly max: number, readonly min: number } {
  const { max = 0, min = max, typical = max } = wanted[unit] ?? {}
  return strict ? { max, min } : { max: typical, min: typical }
}

/** Returns the amount that a reservation takes from an account. */
export function amountToReserve (
  account: Account,
  wanted: RequestedAmounts,
  granted: Granted,
  purpose: ReservationPurpose = 'admit'
): number {
  if (account.counting === 'sum') {
    return account.strict ? granted[account.unit] ?? 0 : requestedOfSum(account, wanted).max
  }
  return purpose === 'count' && isPerCall(account.unit) ? 0 : amountToTake(account, wanted)
}

/**
 * Returns the amount taken from a rate or from open calls: at most a minute's amount, the size of a bucket.
 */
export function amountToTake ({ unit, max }: RateOrConcurrencyAccount, wanted: RequestedAmounts): number {
  return isPerCall(unit) ? 1 : Math.min(wanted[unit]?.max ?? 0, max)
}

/** Suggested wait when open calls have reserved the rest of a limit. */
export const retryAfterMs = 1000

/** Why a sum refuses a call: until its window ends, or only while other calls are open (`reserved`). */
export type SumRefusalReason = 'exhausted' | 'too_small' | 'reserved'

/** Returns the refusal of a sum, when to retry, and when the window of the sum ends. */
export function sumRefusal (
  name: SumAccount['name'],
  why: SumRefusalReason,
  { endMs }: Pick<Period, 'endMs'>
): Omit<AccountRefusal, 'accountIndex'> {
  return {
    reason: why === 'exhausted' ? name : `${name}_${why}`,
    waitMs: why === 'reserved' ? retryAfterMs : 0,
    ...endMs !== Infinity && { endMs }
  }
}

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

/** Returns how a settlement changes a rate or the number of open calls. */
export function settledChange (
  { counting, unit }: Account,
  reserved: number,
  used: ActualUsage['used']
): number {
  if (counting === 'open') return -reserved
  return isPerCall(unit) ? used[unit] ?? 0 : (used[unit] ?? 0) - reserved
}

/** Returns the refund for a call whose process exited: the request count is kept. */
export function releasedChange ({ counting, unit }: RateOrConcurrencyAccount, reserved: number): number {
  return counting === 'rate' && isPerCall(unit) ? 0 : -reserved
}

/**
 * Returns the usage in a row by unit. The first request was counted at reservation, and an ended call is not
 * open.
 */
export function usedIn (row: UsageRow): Record<Unit, number> {
  return {
    requests: Math.max(0, row.attempts - 1),
    tokens: (row.prompt_tokens ?? 0) + (row.completion_tokens ?? 0),
    calls: 0,
    nanoUsd: row.cost_nano_usd ?? 0,
    ...(Object.fromEntries(
      recordedNonTokenUnits.map(({ column }) => [column, row[column] ?? 0])
    ) as Record<NonTokenColumn, number>)
  }
}

/** Returns the usage in rows, with the accounts the calls counted in. Calls of deleted keys are left out. */
export function recordedUsages (
  rows: readonly UsageRow[],
  find: (keyId: string) => ApiKey | undefined,
  defaultLimits: PartyLimits | undefined,
  named?: Pick<NamedBudgets, 'partiesOfRow'>
): RecordedUsage[] {
  return rows.flatMap(row => {
    const key = find(row.key_id)
    if (key === undefined) return []
    const others = named?.partiesOfRow(row.parties) ?? []
    const accounts = limitAccountsOf([...limitedParties(key, defaultLimits), ...others])
    return [{ row: { id: row.id, atMs: row.at_ms }, used: usedIn(row), accounts }]
  })
}
