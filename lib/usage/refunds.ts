/**
 * Recent refunds, such as the unused part of what a deferred answer was charged. The usage ledger may not
 * have them yet, so its totals may be too high by as much. `coordination/scripts.ts` does the same for Redis.
 */

/**
 * Milliseconds until a usage row is in the ledger, unless the store is down: ten times the write delay. A
 * refund is kept for one to two of these periods and hides as much spending of others for that time.
 */
export const recordedAfterMs = 5000

export interface Refunds {
  /** Start of the current window. */
  readonly sinceMs: number
  /** Refunded in this window and in the previous one, in the unit of the sum. */
  readonly current: number
  readonly previous: number
}

export function addRefund (refunds: Refunds | undefined, amount: number, nowMs: number): Refunds {
  const ageMs = nowMs - (refunds?.sinceMs ?? -Infinity)
  if (refunds === undefined || ageMs >= 2 * recordedAfterMs) {
    return { sinceMs: nowMs, current: amount, previous: 0 }
  }
  if (ageMs >= recordedAfterMs) return { sinceMs: nowMs, current: amount, previous: refunds.current }
  return { ...refunds, current: refunds.current + amount }
}

/** Returns the refunds that may not be in the ledger yet. */
export function unrecordedRefunds (refunds: Refunds, nowMs: number): number {
  const ageMs = nowMs - refunds.sinceMs
  return ageMs >= 2 * recordedAfterMs
    ? 0
    : ageMs >= recordedAfterMs
      ? refunds.current
      : refunds.current + refunds.previous
}
