/**
 * Implements a token bucket as pure functions of a clock.
 *
 * A full bucket holds the amount of one minute and refills evenly. So at most a minute's amount is taken at
 * once, and beyond it no faster than the bucket refills. An amount that is returned leaves the bucket as if
 * it had never been taken.
 *
 * All numbers are integers, so that rounding loses nothing: `debt` is an amount times the milliseconds of a
 * minute, of which `limit` are paid back each millisecond.
 */
export interface Bucket {
  readonly debt: number
  /** The time at which `debt` was owed, in milliseconds, an integer. */
  readonly atMs: number
}

export const fullBucket: Bucket = { debt: 0, atMs: 0 }

const minuteMs = 60_000

/** Returns the milliseconds until `amount` may be taken; 0 for now. More than a minute's amount never may. */
export function waitMs (bucket: Bucket, limit: number, amount: number, nowMs: number): number {
  const over = debtNow(bucket, limit, nowMs) + amount * minuteMs - limit * minuteMs
  return Math.max(0, Math.ceil(over / limit))
}

/** Takes an amount, or returns a negative one. The bucket may owe more than it holds afterwards. */
export function take (bucket: Bucket, limit: number, amount: number, nowMs: number): Bucket {
  return { debt: Math.max(0, debtNow(bucket, limit, nowMs) + amount * minuteMs), atMs: nowMs }
}

/** Returns the amount that may be taken now. */
export function remaining (bucket: Bucket, limit: number, nowMs: number): number {
  return Math.max(0, Math.floor(limit - debtNow(bucket, limit, nowMs) / minuteMs))
}

/** Returns the milliseconds until the bucket is full. */
export function fullInMs (bucket: Bucket, limit: number, nowMs: number): number {
  return Math.ceil(debtNow(bucket, limit, nowMs) / limit)
}

/** Computes what is owed now; a clock that was set back pays nothing back until it catches up. */
function debtNow ({ debt, atMs }: Bucket, limit: number, nowMs: number): number {
  return Math.max(0, debt - Math.max(0, nowMs - atMs) * limit)
}
