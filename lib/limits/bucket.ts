/**
 * A token bucket as pure functions of a clock.
 *
 * A full bucket holds one minute's amount and refills evenly, so bursts are limited to that amount. Returning
 * an amount restores the bucket to the state before it was taken.
 *
 * All numbers are integers, so nothing is lost to rounding: `debt` is an amount times the milliseconds of a
 * minute, of which `limit` are paid back each millisecond.
 */
export interface Bucket {
  readonly debt: number
  /** When `debt` was last computed, in milliseconds; an integer. */
  readonly atMs: number
}

export const fullBucket: Bucket = { debt: 0, atMs: 0 }

const minuteMs = 60_000

/**
 * Returns the milliseconds until `amount` is available; 0 if it is available now. An amount above `limit`
 * never is.
 */
export function waitMs (bucket: Bucket, limit: number, amount: number, nowMs: number): number {
  const over = debtNow(bucket, limit, nowMs) + amount * minuteMs - limit * minuteMs
  return Math.max(0, Math.ceil(over / limit))
}

/** Takes an amount, or returns it if negative. The bucket may go into debt. */
export function take (bucket: Bucket, limit: number, amount: number, nowMs: number): Bucket {
  return { debt: Math.max(0, debtNow(bucket, limit, nowMs) + amount * minuteMs), atMs: nowMs }
}

/** Returns the amount available now. */
export function remaining (bucket: Bucket, limit: number, nowMs: number): number {
  return Math.max(0, Math.floor(limit - debtNow(bucket, limit, nowMs) / minuteMs))
}

/** Returns the milliseconds until the bucket is full. */
export function fullInMs (bucket: Bucket, limit: number, nowMs: number): number {
  return Math.ceil(debtNow(bucket, limit, nowMs) / limit)
}

/**
 * Computes the current debt. If the clock was set back, the debt stays the same until the clock catches up.
 */
function debtNow ({ debt, atMs }: Bucket, limit: number, nowMs: number): number {
  return Math.max(0, debt - Math.max(0, nowMs - atMs) * limit)
}
