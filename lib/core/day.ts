/** Ranges of time, and UTC days, for which the usage ledger keeps sums. */

export interface TimeRange {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

export const dayMs = 24 * 60 * 60 * 1000

/** Returns the first millisecond of the day. */
export function dayOf (ms: number): number {
  return ms - ms % dayMs
}

/** Formats the day: `2025-11-21`. */
export function dayText (ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** Returns the first millisecond of the month, or of a month `later` months after it, in UTC. */
export function monthOf (ms: number, later = 0): number {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later)
}
