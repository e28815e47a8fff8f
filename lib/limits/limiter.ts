/** Admits calls of limited keys: what every limiter does, and the one that counts in this process. */

import { setTimeout as sleep } from 'node:timers/promises'
import { steadyNow } from '../async/steady-clock.ts'
import { loggableError } from '../text/describe-error.ts'
import { hasAbandonedJournal } from '../usage/journal-name.ts'
import { isSummed, usedSince } from '../usage/spending.ts'
import { LimitCounters } from './counters.ts'
import {
  undoReservation,
  type ActualUsage,
  type LimitDecision,
  type RecordedUsage,
  type ReservationRequest
} from './reservation.ts'
import { sumKeysOf, type SumKey } from './sum-key.ts'
import { isSqlite, type Database } from '../stores/database.ts'
import type { Log } from '../log/log.ts'
import { BudgetPeers, type SharedStore } from './budget-peers.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { SpendingReader, type ReadUsed } from './spending-reader.ts'

export interface Limiter {
  /**
   * Reserves what a call may use. The caller of this method settles every reservation, whatever happens.
   *
   * @throws GatewayError `shutting_down` when the process that decides is gone, `overloaded` when no limits
   *   can be checked and the configuration says to refuse calls then
   */
  readonly reserve: (request: ReservationRequest) => LimitDecision | Promise<LimitDecision>
  /** Reports the actual usage of a call, once it has ended. */
  readonly settle: (reservation: number, used: ActualUsage) => void
  /**
   * Settles what processes that were killed had reserved for these calls, before their usage rows are
   * stored; resolves once what was settled earlier counts as well. What the store has and was not counted yet
   * could count twice, or be spent again.
   *
   * @throws Error when it could not be done: what they had reserved is released later, and what they used
   *   counts once the store has it
   */
  readonly settleRecorded: (usages: readonly RecordedUsage[]) => Promise<void>
}

/**
 * Lets calls that count in sums, such as budgets, wait while the usage rows of earlier processes are being
 * stored: until they are, the ledger lacks what was used. Records that a failing store does not take are
 * waited for no longer, as no call waits for a ledger that cannot be read.
 *
 * @param recording returns the end of that; `undefined` when it is over
 */
export function onceRecorded (limiter: Limiter, recording: () => Promise<void> | undefined): Limiter {
  return {
    reserve: request => {
      const recorded = request.accounts.some(({ counting }) => counting === 'sum') ? recording() : undefined
      return recorded === undefined
        ? limiter.reserve(request)
        : recorded.then(async () => await limiter.reserve(request))
    },
    settle: (reservation, used) => limiter.settle(reservation, used),
    settleRecorded: async usages => await limiter.settleRecorded(usages)
  }
}

export interface LocalLimiterOptions {
  /** Reads the usage ledger. Default: no ledger, nothing was used before. */
  readonly readUsed?: ReadUsed | undefined
  /** Called when the store cannot be read or written: budgets then count what this process knows. */
  readonly onFailure?: (error: unknown) => void
  readonly now?: () => number
  /** The store that other gateways may use as well. Default: budgets are this gateway's alone. */
  readonly shared?: SharedStore | undefined
  /**
   * Returns true while usage rows of gateways that have closed or exited wait to be stored. Default: none
   * do.
   */
  readonly hasUnrecorded?: (() => boolean) | undefined
  /** Milliseconds between two signs of life to other gateways. Default 1000. */
  readonly beatMs?: number
  /** The time for which a reading is used. Default 1000. */
  readonly rereadMs?: number
}

/**
 * Counts in this process. What parties with sums, such as budgets, have used is read from the usage ledger at
 * their first call, and again every second while they are used. While another gateway uses the same store,
 * both reserve there.
 */
export class LocalLimiter implements Limiter {
  readonly counters: LimitCounters
  readonly #onFailure: (error: unknown) => void
  readonly #reader: SpendingReader
  readonly #peers: BudgetPeers | undefined
  readonly #hasUnrecorded: () => boolean
  readonly #rereadMs: number
  readonly #now: () => number
  #isClosed = false

  constructor ({
    readUsed,
    onFailure = () => {},
    now = steadyNow,
    rereadMs = 1000,
    shared,
    beatMs,
    hasUnrecorded = () => false
  }: LocalLimiterOptions = {}) {
    this.#onFailure = onFailure
    this.#hasUnrecorded = hasUnrecorded
    this.#rereadMs = rereadMs
    this.#now = now
    this.counters = new LimitCounters(now)
    this.#reader = new SpendingReader({
      readUsed,
      rereadMs,
      onFailure,
      onRead: (sum, used) => {
        this.counters.sums.setUsed(sum, used)
      }
    })
    this.#peers =
      shared &&
      new BudgetPeers(shared, {
        holdings: () => this.counters.sums.holdings(),
        onFailure,
        now,
        hasUnrecorded,
        ...beatMs !== undefined && { beatMs }
      })
  }

  /** @param holder the process that reserves, for `release` */
  reserve (request: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    const sums = sumKeysOf(request.accounts, this.#now())
    if (sums.length === 0) return this.counters.reserve(request, holder)
    const ready = this.#peers?.ready()
    if (ready === undefined) return this.#readAndReserve(sums, request, holder)
    // A period may have ended during the wait.
    return ready.then(() => this.#readAndReserve(sumKeysOf(request.accounts, this.#now()), request, holder))
  }

  #readAndReserve (
    sums: readonly SumKey[],
    request: ReservationRequest,
    holder?: string
  ): LimitDecision | Promise<LimitDecision> {
    if (this.#peers?.isShared() === true) return this.#reserveShared(this.#peers, sums, request, holder)
    return this.#reader.onceRead(sums, request, () => this.#reserveRead(sums, request, holder))
  }

  /** Reserves in sums that have been read; another gateway may have begun to use the store meanwhile. */
  #reserveRead (
    sums: readonly SumKey[],
    request: ReservationRequest,
    holder?: string
  ): LimitDecision | Promise<LimitDecision> {
    if (this.#peers?.isShared() === true) return this.#reserveShared(this.#peers, sums, request, holder)
    if (this.#peers !== undefined) {
      for (const sum of sums) this.counters.sums.setElsewhere(sum, 0) // those that shared it are gone
    }
    return this.counters.reserve(request, holder)
  }

  /** Reserves while no other gateway can; when the store cannot be used, with what is known here. */
  async #reserveShared (
    peers: BudgetPeers,
    sums: readonly SumKey[],
    request: ReservationRequest,
    holder?: string
  ): Promise<LimitDecision> {
    let decision: LimitDecision | undefined
    try {
      await retryWhenLocked(async () => {
        // The store may have been locked only when it wrote: what was reserved then is reserved anew.
        if (decision?.admitted === true) this.counters.settle(decision.reservation, undoReservation)
        decision = undefined
        peers.reserve(sums, found => {
          for (const { sum, recorded, reserved, recent } of found) {
            const used = this.counters.sums.setUsed(sum, recorded)
            this.counters.sums.setElsewhere(sum, reserved + Math.max(0, recorded + recent - used))
          }
          decision = this.counters.reserve(request, holder)
          return sum => this.counters.sums.reservedOf(sum)
        })
      })
    } catch (error) {
      this.#onFailure(error)
    }
    return decision ?? this.counters.reserve(request, holder)
  }

  settle (reservation: number, usage: ActualUsage): void {
    const sums = this.counters.settle(reservation, usage)
    this.#peers?.noteUsed(sums, usage)
  }

  async settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    if (usages.length === 0) return
    const byRow = new Map(usages.map(usage => [usage.row.id, usage]))
    for (const [rowId, reservation] of this.counters.withRecords(new Set(byRow.keys()))) {
      this.settle(reservation, byRow.get(rowId) ?? undoReservation)
    }
  }

  /**
   * Releases the reservations of a process that has exited. What its calls hold of sums stays reserved until
   * its usage rows are stored, which settle what they name.
   */
  release (holder: string): void {
    const sums = this.counters.release(holder)
    if (sums.length > 0) void this.#releaseOnceRecorded(holder, sums)
  }

  /**
   * Ends the signs of life to other gateways, and no longer waits for the records of processes that exited.
   */
  close (): void {
    this.#isClosed = true
    this.#peers?.close()
  }

  async #releaseOnceRecorded (holder: string, sums: readonly SumKey[]): Promise<void> {
    try {
      while (this.#hasUnrecorded()) {
        await sleep(this.#rereadMs, undefined, { ref: false })
        if (this.#isClosed) return
      }
      await Promise.all(sums.map(async sum => await this.#reader.readAgain(sum)))
    } catch (error) {
      this.#onFailure(error)
    }
    this.counters.releaseSums(holder)
  }
}

/**
 * Creates a limiter that reads what was used from the usage ledger; without one it starts from zero. Gateways
 * on one PostgreSQL learn what others have used from their records, once a second.
 */
export function createLimiter (usageDatabase: Database | undefined, log: Log): LocalLimiter {
  return new LocalLimiter({
    shared: usageDatabase !== undefined && isSqlite(usageDatabase) ? usageDatabase : undefined,
    hasUnrecorded: usageDatabase && (() => hasAbandonedJournal(usageDatabase.directory)),
    readUsed: usageDatabase && readUsedFrom(usageDatabase),
    onFailure: error =>
      log.error(
        { cause: loggableError(error) },
        'budgets cannot use the store; they count what this process knows'
      )
  })
}

/** Returns the reader of what the usage ledger has. */
export function readUsedFrom ({ query }: Pick<Database, 'query'>): ReadUsed {
  return async ({ party, unit, period }) =>
    isSummed(unit) ? await usedSince(query, unit, party, period.fromMs, period.endMs) : 0
}
