/** Decides on calls of limited keys: with the counters of this process, or those of another. */

import { setTimeout as sleep } from 'node:timers/promises'
import { steadyNow } from '../async/steady-clock.ts'
import { loggableError } from '../text/describe-error.ts'
import { hasAbandonedJournal } from '../usage/journal-name.ts'
import { spendingOf } from '../usage/spending.ts'
import { LimitCounters, type ActualUsage, type BudgetPart, type LimitDecision, type ReservationRequest } from './counters.ts'
import { isSqlite, type Database } from '../stores/database.ts'
import type { Log } from '../telemetry/log.ts'
import { BudgetPeers, type SharedStore } from './budget-peers.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { SpendingReader, type ReadSpending } from './spending-reader.ts'
import type { Period } from './budget.ts'

export interface Limiter {
  /**
   * Reserves what a call may use. The caller of this method settles every reservation, whatever happens.
   *
   * @throws GatewayError `shutting_down` when the process that decides is gone, `overloaded` when no limits can be
   *   checked and the configuration says to refuse calls then
   */
  readonly reserve: (wanted: ReservationRequest) => LimitDecision | Promise<LimitDecision>
  /** Reports the actual usage of a call, once it has ended. */
  readonly settle: (reservation: number, used: ActualUsage) => void
}

export interface LocalLimiterOptions {
  /** Reads the usage ledger. Default: no ledger, nothing was spent before. */
  readonly readSpending?: ReadSpending | undefined
  /** Called when the ledger cannot be read: budgets then count what this process knows. */
  readonly onFailure?: (error: unknown) => void
  readonly now?: () => number
  /** The store that other gateways may use as well. Default: budgets are this gateway's alone. */
  readonly shared?: SharedStore | undefined
  /** Returns true while usage records of gateways that have closed or exited wait to be stored. Default: none do. */
  readonly hasUnrecorded?: (() => boolean) | undefined
  /** Milliseconds between two signs of life to other gateways. Default 1000. */
  readonly beatMs?: number
  /** The time for which a reading is used. Default 1000. */
  readonly rereadMs?: number
}

/**
 * Counts in this process. The spending of keys with a budget is read from the usage ledger at their first
 * call, and again every second while they are used. While another gateway uses the same store, both reserve there.
 */
export class LocalLimiter implements Limiter {
  readonly counters: LimitCounters
  readonly #onFailure: (error: unknown) => void
  readonly #reader: SpendingReader
  readonly #peers: BudgetPeers | undefined
  readonly #hasUnrecorded: () => boolean
  readonly #rereadMs: number
  #isClosed = false

  constructor ({ readSpending, onFailure = () => {}, now = steadyNow, rereadMs = 1000, shared, beatMs, hasUnrecorded = () => false }: LocalLimiterOptions = {}) {
    this.#onFailure = onFailure
    this.#hasUnrecorded = hasUnrecorded
    this.#rereadMs = rereadMs
    this.counters = new LimitCounters(now)
    this.#reader = new SpendingReader({
      readSpending, now, rereadMs, onFailure, onRead: (keyId, period, spent) => { this.counters.setSpent(keyId, period, spent) }
    })
    this.#peers = shared && new BudgetPeers(shared, {
      holdings: () => this.counters.holdings(), onFailure, now, hasUnrecorded, ...beatMs !== undefined && { beatMs }
    })
  }

  /** @param holder the process that reserves, for `release` */
  reserve (wanted: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    const period = this.counters.periodFor(wanted)
    const ready = period === undefined ? undefined : this.#peers?.ready()
    if (ready !== undefined) return ready.then(() => this.#reserve(this.counters.periodFor(wanted), wanted, holder)) // it may have ended
    return this.#reserve(period, wanted, holder)
  }

  #reserve (period: Period | undefined, wanted: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    const reading = period !== undefined && this.#peers?.isShared() === true ? undefined : this.#reader.read(wanted.keyId, period)
    return reading === undefined ? this.#decide(period, wanted, holder) : reading.then(() => this.#decide(period, wanted, holder))
  }

  settle (reservation: number, used: ActualUsage): void {
    const budget = this.#peers === undefined ? undefined : this.counters.budgetOf(reservation)
    if (budget !== undefined) this.#peers?.spent(budget.keyId, budget.fromMs, used.nanoUsd, used.row)
    this.counters.settle(reservation, used)
  }

  /**
   * Releases the reservations of a process that has exited. What its calls hold of budgets stays reserved until its usage records are
   * stored: then what those calls cost is read from the ledger.
   */
  release (holder: string): void {
    const parts = this.counters.release(holder)
    if (parts.length > 0) void this.#releaseOnceRecorded(parts)
  }

  /** Ends the signs of life to other gateways, and no longer waits for the records of processes that exited. */
  close (): void {
    this.#isClosed = true
    this.#peers?.close()
  }

  async #releaseOnceRecorded (parts: readonly BudgetPart[]): Promise<void> {
    try {
      while (this.#hasUnrecorded()) {
        await sleep(this.#rereadMs, undefined, { ref: false })
        if (this.#isClosed) return
      }
      const read = new Map(parts.map(({ keyId, period }) => [`${period?.per} ${keyId}`, { keyId, period }]))
      await Promise.all([...read.values()].map(async ({ keyId, period }) => period && await this.#reader.readAgain(keyId, period)))
    } catch (error) {
      this.#onFailure(error)
    }
    for (const part of parts) this.counters.releaseBudget(part)
  }

  #decide (period: Period | undefined, wanted: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    if (period === undefined || this.#peers === undefined) return this.counters.reserve(wanted, holder)
    if (this.#peers.isShared()) return this.#reserveShared(this.#peers, period, wanted, holder)
    this.counters.setElsewhere(wanted.keyId, period, 0) // those that shared it are gone
    return this.counters.reserve(wanted, holder)
  }

  /** Reserves while no other gateway can; when the store cannot be used, with what is known here. */
  async #reserveShared (peers: BudgetPeers, period: Period, wanted: ReservationRequest, holder?: string): Promise<LimitDecision> {
    const { keyId } = wanted
    let decision: LimitDecision | undefined
    try {
      await retryWhenLocked(async () => peers.reserve(keyId, period.fromMs, ({ recorded, reserved, recent }) => {
        const spent = this.counters.setSpent(keyId, period, recorded)
        this.counters.setElsewhere(keyId, period, reserved + Math.max(0, recorded + recent - spent))
        decision = this.counters.reserve(wanted, holder)
        return this.counters.reservedOf(keyId, period)
      }))
    } catch (error) {
      this.#onFailure(error)
    }
    return decision ?? this.counters.reserve(wanted, holder)
  }
}

/**
 * Creates a limiter that reads spending from the usage ledger; without one it starts from zero. Gateways on one PostgreSQL
 * learn what others have spent from their records, once a second.
 */
export function createLimiter (usageDatabase: Database | undefined, log: Log): LocalLimiter {
  return new LocalLimiter({
    shared: usageDatabase !== undefined && isSqlite(usageDatabase) ? usageDatabase : undefined,
    hasUnrecorded: usageDatabase && (() => hasAbandonedJournal(usageDatabase.directory)),
    readSpending: usageDatabase === undefined ? undefined : async (...stretch) => await spendingOf(usageDatabase.query, ...stretch),
    onFailure: error => log.error({ cause: loggableError(error) }, 'failed to read past spending; budgets count only calls since start')
  })
}
