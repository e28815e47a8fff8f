/** Decides on calls of limited keys: with the counters of this process, or those of another. */

import { loggableError } from '../text/describe-error.ts'
import { spendingOf } from '../usage/spending.ts'
import { LimitCounters, type Used, type Verdict, type Wanted } from './counters.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Period } from './budget.ts'

export interface Limiter {
  /**
   * Reserves what a call may use. The caller of this method settles every reservation, whatever happens.
   *
   * @throws GatewayError `shutting_down` when the process that decides is gone
   */
  readonly reserve: (wanted: Wanted) => Verdict | Promise<Verdict>
  /** Reports the actual usage of a call, once it has ended. */
  readonly settle: (reservation: number, used: Used) => void
}

/** Returns what a key spent in a period up to a moment, in billionths of a dollar. */
export type ReadSpending = (keyId: string, fromMs: number, untilMs: number) => Promise<number>

export interface LocalLimiterOptions {
  /** Reads the usage records. Default: nothing was spent. */
  readonly readSpending?: ReadSpending
  /** Called when usage records cannot be read: budgets then start from zero. */
  readonly onFailure?: (error: unknown) => void
  readonly now?: () => number
}

/** Counts in this process. The spending of keys with a budget is read from the usage records, once. */
export class LocalLimiter implements Limiter {
  readonly counters: LimitCounters
  readonly #readSpending: ReadSpending
  readonly #onFailure: (error: unknown) => void
  readonly #now: () => number
  readonly #reading = new Map<string, Promise<void>>()

  constructor ({ readSpending = async () => 0, onFailure = () => {}, now = Date.now }: LocalLimiterOptions = {}) {
    this.#readSpending = readSpending
    this.#onFailure = onFailure
    this.#now = now
    this.counters = new LimitCounters(now)
  }

  /** @param holder the process that reserves, for `release` */
  reserve (wanted: Wanted, holder?: string): Verdict | Promise<Verdict> {
    const period = this.counters.unloadedPeriod(wanted)
    if (period === undefined) return this.counters.reserve(wanted, holder)
    return this.#loaded(wanted.keyId, period).then(() => this.counters.reserve(wanted, holder))
  }

  settle (reservation: number, used: Used): void {
    this.counters.settle(reservation, used)
  }

  release (holder: string): void {
    this.counters.release(holder)
  }

  /** Waits for the spending to be read; calls that arrive meanwhile share one read. */
  async #loaded (keyId: string, period: Period): Promise<void> {
    let reading = this.#reading.get(keyId)
    if (reading === undefined) {
      reading = this.#load(keyId, period).finally(() => this.#reading.delete(keyId))
      this.#reading.set(keyId, reading)
    }
    await reading
  }

  async #load (keyId: string, period: Period): Promise<void> {
    let spent = 0
    try {
      spent = await this.#readSpending(keyId, period.fromMs, this.#now())
    } catch (error) {
      this.#onFailure(error)
    }
    this.counters.setSpent(keyId, period, spent)
  }
}

/** Creates a limiter that reads earlier spending from the usage records; without them it starts from zero. */
export function createLimiter (usageDatabase: Pick<Database, 'query'> | undefined, log: Log): LocalLimiter {
  return new LocalLimiter({
    readSpending: async (...stretch) => usageDatabase === undefined ? 0 : await spendingOf(usageDatabase.query, ...stretch),
    onFailure: error => log.error({ cause: loggableError(error) }, 'failed to load key spend; budget starts from zero')
  })
}
