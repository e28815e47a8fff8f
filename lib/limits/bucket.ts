/**
 * How much may be taken per minute: a token bucket, as pure functions of a clock.
 *
 * A full bucket holds a minute's worth, and fills again evenly. So in any stretch of time at most
 * a minute's worth is taken at once, and beyond it no faster than it fills. What is given back
 * leaves the bucket as if it had never been taken.
 *
 * All is whole numbers, so that nothing is lost by rounding: `owed` is an amount times the
 * milliseconds of a minute, of which `limit` are paid back each millisecond.
 */
export interface Bucket {
  readonly owed: number
  /** When `owed` was owed, in whole milliseconds. */
  readonly atMs: number
}

export const fullBucket: Bucket = { owed: 0, atMs: 0 }

const minuteMs = 60_000

/** Milliseconds until `amount` may be taken; 0 for now. More than a minute's worth never may. */
export function waitMs (bucket: Bucket, limit: number, amount: number, nowMs: number): number {
  const over = owedNow(bucket, limit, nowMs) + amount * minuteMs - limit * minuteMs
  return Math.max(0, Math.ceil(over / limit))
}

/** Takes an amount, or gives a negative one back. The bucket may be left owing more than it holds. */
export function take (bucket: Bucket, limit: number, amount: number, nowMs: number): Bucket {
  return { owed: Math.max(0, owedNow(bucket, limit, nowMs) + amount * minuteMs), atMs: nowMs }
}

/** What may be taken now. */
export function remaining (bucket: Bucket, limit: number, nowMs: number): number {
  return Math.max(0, Math.floor(limit - owedNow(bucket, limit, nowMs) / minuteMs))
}

/** Milliseconds until the bucket is full. */
export function fullInMs (bucket: Bucket, limit: number, nowMs: number): number {
  return Math.ceil(owedNow(bucket, limit, nowMs) / limit)
}

/** A clock that was set back pays nothing back until it moves on. */
function owedNow ({ owed, atMs }: Bucket, limit: number, nowMs: number): number {
  return Math.max(0, owed - Math.max(0, nowMs - atMs) * limit)
}
