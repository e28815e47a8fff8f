/**
 * Counts limits per minute and open calls, in memory. `coordination/scripts` does the same in Redis; a
 * change of one needs the other.
 *
 * A limit per minute is a token bucket: it holds one minute's amount and refills evenly, so bursts are
 * limited to that amount. Returning an amount restores the bucket to the state before it was taken.
 *
 * All numbers are integers, so nothing is lost to rounding: `debt` is an amount times the milliseconds of a
 * minute, of which the limit is paid back each millisecond.
 */

import { PrunedMap } from '../async/pruned-map.ts'
import { counterName } from './sum-keys.ts'
import type { Account, RateOrConcurrencyAccount, Unit } from './call-accounts.ts'
import { retryAfterMs, type RateLimits, type RateLimitStatus } from './reservation.ts'

interface Bucket {
  readonly debt: number
  /** When `debt` was last computed, in milliseconds; an integer. */
  readonly atMs: number
  /** The limit at the latest call. */
  readonly max: number
}

const minuteMs = 60_000

/** The buckets and open calls of all parties; full buckets are removed. */
export class RateCounters {
  readonly #now: () => number
  readonly #buckets = new PrunedMap<Bucket>(bucket => debtAt(this.#now(), bucket, bucket.max) === 0)
  readonly #open = new Map<string, number>()

  /** @param now returns Unix milliseconds */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Returns the number of counters. */
  get size (): number {
    return this.#buckets.size + this.#open.size
  }

  /**
   * Returns the milliseconds until an amount is available; 0 if it is available now. An amount above the
   * limit never is.
   */
  waitMs (account: RateOrConcurrencyAccount, amount: number, nowMs: number): number {
    const { counting, max } = account
    switch (counting) {
      case 'open': return (this.#open.get(counterName(account.party)) ?? 0) < max ? 0 : retryAfterMs
      case 'rate': {
        const over = this.#debtOf(account, nowMs) + (amount - max) * minuteMs
        return Math.max(0, Math.ceil(over / max))
      }
    }
    return counting satisfies never
  }

  /** Takes an amount, or returns it if negative. A bucket may go into debt for more than it holds. */
  add (account: RateOrConcurrencyAccount, amount: number, nowMs: number): void {
    const { counting, max } = account
    switch (counting) {
      case 'rate': {
        const debt = Math.max(0, this.#debtOf(account, nowMs) + amount * minuteMs)
        this.#buckets.set(bucketName(account), { debt, atMs: nowMs, max })
        return
      }
      case 'open': {
        const name = counterName(account.party)
        const open = (this.#open.get(name) ?? 0) + amount
        if (open === 0) this.#open.delete(name)
        else this.#open.set(name, open)
        return
      }
    }
    counting satisfies never
  }

  /** Describes the limits per minute among accounts. */
  statusesOf (accounts: readonly Account[], nowMs: number): RateLimits {
    const statuses: Partial<Record<Unit, RateLimitStatus>> = {}
    for (const account of accounts) {
      const { counting, unit, max } = account
      if (counting !== 'rate' || statuses[unit] !== undefined) continue
      const debt = this.#debtOf(account, nowMs)
      statuses[unit] = {
        limit: max,
        remaining: Math.max(0, Math.floor(max - debt / minuteMs)),
        resetMs: Math.ceil(debt / max)
      }
    }
    return statuses
  }

  #debtOf (account: RateOrConcurrencyAccount, nowMs: number): number {
    const bucket = this.#buckets.get(bucketName(account))
    return bucket === undefined ? 0 : debtAt(nowMs, bucket, account.max)
  }
}

/** Computes a debt. If the clock was set back, it stays the same until the clock catches up. */
function debtAt (nowMs: number, { debt, atMs }: Bucket, max: number): number {
  return Math.max(0, debt - Math.max(0, nowMs - atMs) * max)
}

function bucketName (account: RateOrConcurrencyAccount): string {
  return `${account.unit} ${counterName(account.party)}`
}
