/** Counts limits per minute, each in a token bucket, and open calls, in memory. */

import { PrunedMap } from '../async/pruned-map.ts'
import { fullBucket, fullInMs, remaining, take, waitMs, type Bucket } from './bucket.ts'
import { partyKey, type Account, type RateOrConcurrencyAccount, type Unit } from './call-accounts.ts'
import { retryAfterMs } from './reservation-rules.ts'
import type { RateLimits, RateLimitStatus } from './reservation.ts'

interface Rate {
  readonly bucket: Bucket
  /** The limit at the latest call. */
  readonly limit: number
}

export class RateCounters {
  readonly #now: () => number
  readonly #rates = new PrunedMap<Rate>(({ bucket, limit }) => fullInMs(bucket, limit, this.#now()) === 0)
  readonly #open = new Map<string, number>()

  /** @param now returns Unix milliseconds */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Returns the number of counters. */
  get size (): number {
    return this.#rates.size + this.#open.size
  }

  /** Returns the milliseconds until an amount is available; 0 if it is available now. */
  waitMs (account: RateOrConcurrencyAccount, amount: number, nowMs: number): number {
    const { counting, amount: limit } = account
    switch (counting) {
      case 'open': return this.#openOf(account) < limit ? 0 : retryAfterMs
      case 'rate': return waitMs(this.#bucketOf(account), limit, amount, nowMs)
    }
    return counting satisfies never
  }

  /** @param amount negative to return an amount */
  add (account: RateOrConcurrencyAccount, amount: number, nowMs: number): void {
    const { counting, amount: limit } = account
    switch (counting) {
      case 'rate':
        this.#rates.set(rateName(account), {
          bucket: take(this.#bucketOf(account), limit, amount, nowMs), limit
        })
        return
      case 'open': {
        const open = this.#openOf(account) + amount
        if (open === 0) this.#open.delete(partyKey(account))
        else this.#open.set(partyKey(account), open)
        return
      }
    }
    counting satisfies never
  }

  /** Describes the limits per minute among accounts. */
  statusesOf (accounts: readonly Account[], nowMs: number): RateLimits {
    const statuses: Partial<Record<Unit, RateLimitStatus>> = {}
    for (const account of accounts) {
      const { counting, unit, amount: limit } = account
      if (counting !== 'rate' || statuses[unit] !== undefined) continue
      const bucket = this.#bucketOf(account)
      statuses[unit] = {
        limit, remaining: remaining(bucket, limit, nowMs), resetMs: fullInMs(bucket, limit, nowMs)
      }
    }
    return statuses
  }

  #bucketOf (account: Account): Bucket {
    return this.#rates.get(rateName(account))?.bucket ?? fullBucket
  }

  #openOf (account: Account): number {
    return this.#open.get(partyKey(account)) ?? 0
  }
}

function rateName (account: Account): string {
  return `${account.unit} ${partyKey(account)}`
}
