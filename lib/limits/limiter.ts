/** Decides on calls of limited keys: with the counters of this process, or those of another. */

import { steadyNow } from '../async/steady-clock.ts'
import { loggableError } from '../text/describe-error.ts'
import { spendingOf } from '../usage/spending.ts'
import { LimitCounters, type ActualUsage, type LimitDecision, type ReservationRequest } from './counters.ts'
import type { Database } from '../stores/database.ts'
import type { Log } from '../telemetry/log.ts'
import type { Period } from './budget.ts'

export interface Limiter {
  /**
   * Reserves what a call may use. The caller of this method settles every reservation, whatever happens.
   *
   * @throws GatewayError `shutting_down` when the process that decides is gone
   */
  readonly reserve: (wanted: ReservationRequest) => LimitDecision | Promise<LimitDecision>
  /** Reports the actual usage of a call, once it has ended. */
  readonly settle: (reservation: number, used: ActualUsage) => void
}

/** Returns what a key spent in a period up to a moment, in billionths of a dollar. */
export type ReadSpending = (keyId: string, fromMs: number, untilMs: number) => Promise<number>

export interface LocalLimiterOptions {
  /** Reads the usage ledger. Default: no ledger, nothing was spent before. */
  readonly readSpending?: ReadSpending | undefined
  /** Called when the ledger cannot be read: budgets then count what this process knows. */
  readonly onFailure?: (error: unknown) => void
  readonly now?: () => number
  /** The time for which a reading is used. Default 1000: gateways on one store learn of each other's calls within it. */
  readonly rereadMs?: number
}

/**
 * Counts in this process. The spending of keys with a budget is read from the usage ledger at their first
 * call, and again every second while they are used: another gateway on the same store may spend as well.
 */
export class LocalLimiter implements Limiter {
  readonly counters: LimitCounters
  readonly #readSpending: ReadSpending | undefined
  readonly #onFailure: (error: unknown) => void
  readonly #now: () => number
  readonly #rereadMs: number
  readonly #readings = new Map<string, Reading>()

  constructor ({ readSpending, onFailure = () => {}, now = steadyNow, rereadMs = 1000 }: LocalLimiterOptions = {}) {
    this.#readSpending = readSpending
    this.#onFailure = onFailure
    this.#now = now
    this.#rereadMs = rereadMs
    this.counters = new LimitCounters(now)
  }

  /** @param holder the process that reserves, for `release` */
  reserve (wanted: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    const reading = this.#read(wanted)
    if (reading === undefined) return this.counters.reserve(wanted, holder)
    return reading.then(() => this.counters.reserve(wanted, holder))
  }

  settle (reservation: number, used: ActualUsage): void {
    this.counters.settle(reservation, used)
  }

  release (holder: string): void {
    this.counters.release(holder)
  }

  /** Reads the spending unless it is known; calls that arrive meanwhile share one reading. */
  #read (wanted: ReservationRequest): Promise<void> | undefined {
    const period = this.counters.periodFor(wanted)
    if (period === undefined || this.#readSpending === undefined) return undefined
    const name = `${period.per} ${wanted.keyId}`
    const last = this.#readings.get(name)
    const atMs = performance.now()
    if (last !== undefined && atMs - last.atMs < this.#rereadMs) return last.pending
    const reading: Reading = { atMs, pending: undefined }
    reading.pending = this.#load(wanted.keyId, period, this.#readSpending).finally(() => { reading.pending = undefined })
    this.#readings.set(name, reading)
    return reading.pending
  }

  async #load (keyId: string, period: Period, readSpending: ReadSpending): Promise<void> {
    try {
      this.counters.setSpent(keyId, period, await readSpending(keyId, period.fromMs, this.#now()))
    } catch (error) {
      this.#onFailure(error)
    }
  }
}

interface Reading {
  readonly atMs: number
  pending: Promise<void> | undefined
}

/** Creates a limiter that reads spending from the usage ledger; without one it starts from zero. */
export function createLimiter (usageDatabase: Pick<Database, 'query'> | undefined, log: Log): LocalLimiter {
  return new LocalLimiter({
    readSpending: usageDatabase === undefined ? undefined : async (...stretch) => await spendingOf(usageDatabase.query, ...stretch),
    onFailure: error => log.error({ cause: loggableError(error) }, 'failed to read past spending; budgets count only calls since start')
  })
}
