/**
 * Recent refunds, such as the rest of what a deferred answer was charged at first: the usage ledger may not
 * have them yet, so what it says was spent may be too high by as much. `coordination/scripts.ts` has the same
 * for Redis.
 */

/**
 * Milliseconds after which a usage row is in the ledger, unless the store is down: ten times as long as it
 * waits. A refund is kept for one to two of them; meanwhile as much that others have spent is not seen.
 */
export const recordedAfterMs = 5000

export interface Refunds {
  /** The beginning of the current window. */
  readonly sinceMs: number
  /** Billionths of a dollar that were given back in it, and in the window before it. */
  readonly current: number
  readonly previous: number
}

/** Adds an amount that was given back. */
export function addRefund (refunds: Refunds | undefined, nanoUsd: number, nowMs: number): Refunds {
  const ageMs = nowMs - (refunds?.sinceMs ?? -Infinity)
  if (refunds === undefined || ageMs >= 2 * recordedAfterMs) {
    return { sinceMs: nowMs, current: nanoUsd, previous: 0 }
  }
  if (ageMs >= recordedAfterMs) return { sinceMs: nowMs, current: nanoUsd, previous: refunds.current }
  return { ...refunds, current: refunds.current + nanoUsd }
}

/** Returns the most that the ledger may not have yet. */
export function unrecordedRefunds (refunds: Refunds, nowMs: number): number {
  const ageMs = nowMs - refunds.sinceMs
  return ageMs >= 2 * recordedAfterMs
    ? 0
    : ageMs >= recordedAfterMs
      ? refunds.current
      : refunds.current + refunds.previous
}
