/** Who decides whether a limited key may go on: the counters of this process, or those of another. */

import { loggableError } from '../text/describe-error.ts'
import { spendingOf } from '../usage/spending.ts'
import { LimitCounters, type Used, type Verdict, type Wanted } from './counters.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Period } from './budget.ts'

export interface Limiter {
  /**
   * Sets aside what a call may use. Whoever gets a reservation settles it, whatever happens.
   *
   * @throws GatewayError `shutting_down` when the process that decides is gone
   */
  readonly reserve: (wanted: Wanted) => Verdict | Promise<Verdict>
  /** Says what a call did use, once it has ended. */
  readonly settle: (reservation: number, used: Used) => void
}

/** What a key had spent in a period until a moment, in billionths of a dollar. */
export type ReadSpending = (keyId: string, fromMs: number, untilMs: number) => Promise<number>

export interface LocalLimiterOptions {
  /** Reads the books. Default: nothing was spent. */
  readonly readSpending?: ReadSpending
  /** Hears that the books could not be read: budgets then begin with nothing spent. */
  readonly onFailure?: (error: unknown) => void
  readonly now?: () => number
}

/** Counts in this process. Keys with a budget are looked up in the books, once. */
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

  /** @param holder the process that asks, for `release` */
  reserve (wanted: Wanted, holder?: string): Verdict | Promise<Verdict> {
    const period = this.counters.unknownPeriod(wanted)
    if (period === undefined) return this.counters.reserve(wanted, holder)
    return this.#learned(wanted.keyId, period).then(() => this.counters.reserve(wanted, holder))
  }

  settle (reservation: number, used: Used): void {
    this.counters.settle(reservation, used)
  }

  release (holder: string): void {
    this.counters.release(holder)
  }

  /** Calls that come while the books are read wait for the same reading. */
  async #learned (keyId: string, period: Period): Promise<void> {
    let reading = this.#reading.get(keyId)
    if (reading === undefined) {
      reading = this.#learn(keyId, period).finally(() => this.#reading.delete(keyId))
      this.#reading.set(keyId, reading)
    }
    await reading
  }

  async #learn (keyId: string, period: Period): Promise<void> {
    let spent = 0
    try {
      spent = await this.#readSpending(keyId, period.fromMs, this.#now())
    } catch (error) {
      this.#onFailure(error)
    }
    this.counters.learn(keyId, period, spent)
  }
}

/** A limiter that knows from the books what was spent before; without books nothing was. */
export function createLimiter (books: Pick<Database, 'query'> | undefined, log: Log): LocalLimiter {
  return new LocalLimiter({
    readSpending: async (...stretch) => books === undefined ? 0 : await spendingOf(books.query, ...stretch),
    onFailure: error => log.error({ cause: loggableError(error) }, 'what a key has spent cannot be read; its budget begins anew')
  })
}
