/**
 * How much a call reserves of each account and what changes when it ends: the rules shared by memory and
 * Redis.
 */

import type { Account, RateOrConcurrencyAccount, SumAccount, Unit } from './call-accounts.ts'
import { isPerCall } from './limit-table.ts'
import type {
  AccountRefusal,
  ActualUsage,
  Granted,
  ReservationPurpose,
  RequestedAmounts
} from './reservation.ts'

/** Returns the most that is wanted of each unit. */
export function maxRequested (wanted: RequestedAmounts): Partial<Record<Unit, number>> {
  const amounts: Partial<Record<Unit, number>> = {}
  for (const [unit, { most }] of Object.entries(wanted)) amounts[unit as Unit] = most // its keys are units
  return amounts
}

/** Returns the most and the least that a call reserves of a sum. */
export function requestedOfSum (
  { unit, strict }: SumAccount,
  wanted: RequestedAmounts
): { readonly most: number, readonly least: number } {
  const { most = 0, least = most, usual = most } = wanted[unit] ?? {}
  return strict ? { most, least } : { most: usual, least: usual }
}

/** Returns the amount that a reservation takes from an account. */
export function amountToReserve (
  account: Account,
  wanted: RequestedAmounts,
  granted: Granted,
  purpose: ReservationPurpose = 'admit'
): number {
  if (account.counting === 'sum') {
    return account.strict ? granted[account.unit] ?? 0 : requestedOfSum(account, wanted).most
  }
  return purpose === 'count' && isPerCall(account.unit) ? 0 : amountToTake(account, wanted)
}

/**
 * Returns the amount taken from a rate or from open calls: at most a minute's amount, the size of a bucket.
 */
export function amountToTake ({ unit, amount }: RateOrConcurrencyAccount, wanted: RequestedAmounts): number {
  return isPerCall(unit) ? 1 : Math.min(wanted[unit]?.most ?? 0, amount)
}

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

/** Suggested wait when open calls have reserved the rest of a limit. */
export const retryAfterMs = 1000

/** Why a sum refuses a call: until its window ends, or only while other calls are open (`reserved`). */
export type SumRefusalReason = 'exhausted' | 'too_small' | 'reserved'

/** Returns the refusal of a sum, and when to retry. */
export function sumRefusal (
  name: SumAccount['name'],
  why: SumRefusalReason
): Pick<AccountRefusal, 'reason' | 'waitMs'> {
  return why === 'exhausted'
    ? { reason: name, waitMs: 0 }
    : { reason: `${name}_${why}`, waitMs: why === 'reserved' ? retryAfterMs : 0 }
}
