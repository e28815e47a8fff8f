/**
 * Admits calls within the limits of their parties: the interface of every limiter, and the one that counts in
 * this process.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { abortable } from '../async/cancellation.ts'
import { Outage } from '../async/outage.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { loggableError } from '../text/describe-error.ts'
import { hasAbandonedJournal } from '../usage/journal-name.ts'
import { isSummedUnit, usedBetween } from '../usage/spending.ts'
import { LimitCounters } from './counters.ts'
import {
  cancelledUsage,
  type LimitDecision,
  type ReservationRequest,
  type ActualUsage,
  type RecordedUsage
} from './reservation.ts'
import { countersOf, sumsOf, type SumKey } from './sum-keys.ts'
import { isSqlite, type Database } from '../stores/database.ts'
import type { CallSignal } from '../core/call.ts'
import type { Log } from '../log/log.ts'
import { BudgetPeers, type SharedStore } from './budget-peers.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { SpendingReader, type ReadUsed } from './spending-reader.ts'

export interface Limiter {
  /**
   * Reserves what a call may use. The caller must settle every reservation; a request to `describe` makes
   * none.
   *
   * @throws GatewayError `shutting_down` if the deciding process has exited, `overloaded` if limits cannot be
   *   checked and the configuration says to refuse calls then
   */
  readonly reserve: (request: ReservationRequest) => LimitDecision | Promise<LimitDecision>
  /** Reports the actual usage of a call, once it has ended. */
  readonly settle: (reservation: number, used: ActualUsage) => void
  /**
   * Settles the reservations of killed processes for these calls, before their usage rows are stored;
   * resolves once earlier settlements count too. Usage that is stored but not yet settled could count twice,
   * or be spent again.
   *
   * @throws Error on failure: the reservations are then released later, and the usage counts once it is
   *   stored
   */
  readonly settleRecorded: (usages: readonly RecordedUsage[]) => Promise<void>
}

/**
 * Makes calls that count in sums, such as budgets, wait while the usage rows of earlier processes are being
 * stored, because until then the ledger is incomplete. If the store fails, calls wait no longer.
 *
 * @param importing returns a promise for the end of the import; `undefined` once it is over
 */
export function afterImport (limiter: Limiter, importing: () => Promise<void> | undefined): Limiter {
  return {
    reserve: request => {
      const imported = countsInSums(request) ? importing() : undefined
      return imported === undefined
        ? limiter.reserve(request)
        : imported.then(async () => await limiter.reserve(request))
    },
    settle: (reservation, used) => limiter.settle(reservation, used),
    settleRecorded: async usages => await limiter.settleRecorded(usages)
  }
}

function countsInSums ({ accounts }: ReservationRequest): boolean {
  return accounts.some(({ counting }) => counting === 'sum')
}

export interface LocalLimiterOptions {
  /** Reads the usage ledger. Default: no ledger, all usage starts at zero. */
  readonly readUsed?: ReadUsed | undefined
  /** Called when the store cannot be read or written: budgets then count only what this process knows. */
  readonly onFailure?: (error: unknown) => void
  /**
   * Called each time spending was read, or reserved together with other gateways. A heartbeat that was
   * written says nothing about that.
   */
  readonly onSuccess?: () => void
  readonly now?: () => number
  /** The store that other gateways may share. Default: budgets are this gateway's alone. */
  readonly shared?: SharedStore | undefined
  /** Returns true while usage rows of closed or exited gateways are waiting to be stored. Default: never. */
  readonly hasUnrecorded?: (() => boolean) | undefined
  /** Heartbeat interval in milliseconds. Default 1000. */
  readonly beatMs?: number
  /** How long spending that was read from the ledger stays valid, in milliseconds. Default 1000. */
  readonly rereadMs?: number
}

/**
 * Counts in this process. Sums, such as budgets, are read from the usage ledger at a party's first call and
 * every second while in use. While another gateway uses the same SQLite file, both reserve there; on
 * PostgreSQL each learns the usage of the others from their records.
 */
export class LocalLimiter implements Limiter {
  readonly counters: LimitCounters
  readonly #onFailure: (error: unknown) => void
  readonly #onSuccess: () => void
  readonly #reader: SpendingReader
  readonly #peers: BudgetPeers | undefined
  readonly #hasUnrecorded: () => boolean
  readonly #rereadMs: number
  readonly #now: () => number
  #isClosed = false

  constructor ({
    readUsed,
    onFailure = () => {},
    onSuccess = () => {},
    now = steadyNow,
    rereadMs = 1000,
    shared,
    beatMs,
    hasUnrecorded = () => false
  }: LocalLimiterOptions = {}) {
    this.#onFailure = onFailure
    this.#onSuccess = onSuccess
    this.#hasUnrecorded = hasUnrecorded
    this.#rereadMs = rereadMs
    this.#now = now
    this.counters = new LimitCounters(now, readUsed !== undefined)
    this.#reader = new SpendingReader({
      readUsed,
      rereadMs,
      onFailure,
      onSuccess,
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

  /** @param holder the reserving process, for `release` */
  reserve (request: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    if (!countsInSums(request)) return this.counters.reserve(request, holder)
    const ready = this.#peers?.ready()
    return ready === undefined
      ? this.#reserveSums(request, holder)
      : ready.then(() => this.#reserveSums(request, holder))
  }

  #reserveSums (request: ReservationRequest, holder?: string): LimitDecision | Promise<LimitDecision> {
    const peers = this.#peers
    const sums = sumsOf(countersOf(request.accounts, this.#now()))
    if (peers?.isShared() === true) return this.#reserveShared(peers, sums, request, holder)
    return this.#reader.afterReading(sums, request, () => {
      // Another gateway may have joined the store during the read.
      if (peers?.isShared() === true) return this.#reserveShared(peers, sums, request, holder)
      if (peers !== undefined) {
        for (const sum of sums) this.counters.sums.setElsewhere(sum, 0) // all peers have left
      }
      return this.counters.reserve(request, holder)
    })
  }

  /**
   * Reserves in a transaction that excludes other gateways. If the store cannot be used, reserves with what
   * is known here, or as `withoutStore` says.
   */
  async #reserveShared (
    peers: BudgetPeers,
    sums: readonly SumKey[],
    request: ReservationRequest,
    holder?: string
  ): Promise<LimitDecision> {
    let decision: LimitDecision | undefined
    try {
      await retryWhenLocked(async () => {
        // The write may have failed only because the store was locked: cancel the reservation and reserve
        // again.
        if (decision?.admitted === true) this.counters.settle(decision.reservation, cancelledUsage)
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
      this.#onSuccess()
    } catch (error) {
      this.#onFailure(error)
    }
    if (decision !== undefined) return decision
    const reserve = (): LimitDecision => this.counters.reserve(request, holder)
    if (request.withoutStore === undefined) return reserve()
    return await this.#reader.afterReading(sums, request, reserve)
  }

  settle (reservation: number, usage: ActualUsage): void {
    const sums = this.counters.settle(reservation, usage)
    this.#peers?.noteUsed(sums, usage)
  }

  async settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    if (usages.length === 0) return
    const byRow = new Map(usages.map(usage => [usage.row.id, usage]))
    for (const [rowId, reservation] of this.counters.reservationsOf(new Set(byRow.keys()))) {
      const usage = byRow.get(rowId)
      if (usage !== undefined) this.settle(reservation, usage)
    }
  }

  /**
   * Releases the reservations of a process that has exited. Its sums stay reserved until its usage rows are
   * stored, which settle them.
   */
  release (holder: string): void {
    const sums = this.counters.release(holder)
    if (sums.length > 0) void this.#releaseOnceRecorded(holder, sums)
  }

  /** Stops the heartbeat, and stops waiting for the records of exited processes. */
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
 * Creates a limiter that reads usage from the ledger; without a ledger it starts from zero. Gateways that
 * share PostgreSQL learn each other's usage from the records, once a second.
 */
export function createLimiter (usageDatabase: Database | undefined, log: Log): LocalLimiter {
  const outage = spendingOutage(log, {
    begin: 'failed to read or write spending in the store; budgets count this process only',
    end: 'spending can be read and written in the store again'
  })
  return new LocalLimiter({
    shared: usageDatabase !== undefined && isSqlite(usageDatabase) ? usageDatabase : undefined,
    hasUnrecorded: usageDatabase && (() => hasAbandonedJournal(usageDatabase.directory)),
    readUsed: usageDatabase && readUsedFrom(usageDatabase),
    onFailure: outage.failed,
    onSuccess: outage.succeeded
  })
}

/** A success ends an outage only if nothing has failed for this many milliseconds. */
const quietMs = 5000

/** Returns the outage of the ledger, logged with these messages: thousands of keys may read it at a time. */
export function spendingOutage (log: Log, { begin, end }: Readonly<Record<'begin' | 'end', string>>): Outage {
  return new Outage({
    quietMs,
    onBegin: error => log.error({ cause: loggableError(error) }, begin),
    onEnd: () => log.info(end)
  })
}

/** Returns a function that reads usage from the ledger. */
export function readUsedFrom ({ query }: Pick<Database, 'query'>): ReadUsed {
  return async ({ party, unit, period }) =>
    isSummedUnit(unit) ? await usedBetween(query, unit, party, period.fromMs, period.endMs) : 0
}

/** Waits for a decision. If the call ends first, a reservation that is granted later is released. */
export async function awaitDecision (
  limiter: Limiter,
  decision: LimitDecision | Promise<LimitDecision>,
  signal: CallSignal
): Promise<LimitDecision> {
  if (!(decision instanceof Promise)) return decision
  try {
    return await abortable(decision, signal)
  } catch (error) {
    decision.then(
      late => {
        if (late.admitted) limiter.settle(late.reservation, cancelledUsage)
      },
      () => {
        /* nothing is reserved */
      }
    )
    throw error
  }
}
