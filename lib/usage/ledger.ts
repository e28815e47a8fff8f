/**
 * Writes the usage ledger, one row per call, to the database in background batches.
 *
 * Before the last byte of an answer is sent, the row is in the journal, unless the disk is full, and stays
 * there until it is in the database. So every call whose caller got the answer is recorded, even if this
 * process is killed. The database connection does not wait for locks, which would block every call.
 */

import { join } from 'node:path'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { Outage } from '../async/outage.ts'
import { Ring, RingMember } from '../async/ring.ts'
import { loggableError } from '../text/describe-error.ts'
import { importJournal, importJournals, type ImportEvents } from './import-journals.ts'
import { Journal, printLine } from './journal.ts'
import { finishedJournalName, journalName } from './journal-name.ts'
import { backfillRollups } from './backfill-rollups.ts'
import type { Database, Retention } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { Log } from '../log/log.ts'

export interface LedgerOptions {
  /**
   * Called before rows are stored: with the imported rows of killed processes, or with an empty list for rows
   * of this process. Default: does nothing.
   */
  readonly beforeStored?: (imported: readonly UsageRow[]) => Promise<void>
  readonly log: Log
  readonly retention: () => Retention
  /** Rows per batch. Default 200. */
  readonly batchRows?: number
  /** Longest wait of a row for its batch, in milliseconds. Default 500. */
  readonly everyMs?: number
  /** Rows kept in memory while the database fails; further ones are only in the journal. Default 100,000. */
  readonly maxWaiting?: number
}

/** The first failures are expected while another process writes; more indicate a database problem. */
const toleratedFailures = 5
const maxFinalFlushes = 5
const initialRetryMs = 20
const maxRetryMs = 10_000
const pruneEveryMs = 10 * 60_000
const importEveryMs = 30_000
const checkEveryMs = 1000
/** Emptying a journal while calls end replaces the file, which takes 0.1 ms, so not after every batch. */
const emptyEveryMs = 250
/** Journal size at which it is shortened while rows are waiting: a second of the busiest process. */
const longJournalBytes = 8 * 1024 * 1024

/** A call in the journal that has not ended, so its row may still change. */
export class JournaledCall extends RingMember {
  /** The row as journaled. */
  row: UsageRow
  /** Resolves when the row is written; `undefined` if it is, or cannot be. */
  written: Promise<void> | undefined

  constructor (row: UsageRow) {
    super()
    this.row = row
  }
}

export class Ledger {
  readonly #database: Database
  readonly #options: Required<LedgerOptions>
  readonly #journal: Journal
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #journaled = new Ring<JournaledCall>()
  /**
   * Complete journals of this process that are not imported yet, with the ids of calls that were open at the
   * time. Those calls are also in the current journal, which has their final rows.
   */
  readonly #rotatedJournals = new Map<string, ReadonlySet<string>>()
  #waiting: UsageRow[] = []
  /** Number of rows that are in the journal only. */
  #overflow = 0
  #dropped = 0
  /** What was dropped before the current failures. */
  #droppedBefore = 0
  #failures = 0
  #emptiedAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #importing: Promise<void> | undefined
  #backfilling: Promise<void> | undefined
  readonly #closing = new AbortController()
  readonly #moveOutage = new Outage({
    onBegin: error => {
      this.#options.log.error(
        { file: this.#journal.path, cause: loggableError(error) },
        'usage rows left in the journal; will be imported later'
      )
    }
  })

  readonly #journalOutage = new Outage({
    onBegin: error => {
      this.#options.log.warn(
        { file: this.#journal.path, cause: loggableError(error) },
        'usage journal cannot be checked'
      )
    }
  })

  constructor (database: Database, options: LedgerOptions) {
    this.#database = database
    this.#options = {
      beforeStored: async () => {},
      batchRows: 200,
      everyMs: 500,
      maxWaiting: 100_000,
      ...options
    }
    this.#journal = new Journal(join(database.directory, journalName()))
    this.#timers = [
      setInterval(() => { void this.prune() }, pruneEveryMs).unref(),
      setInterval(() => { void this.importJournals() }, importEveryMs).unref(),
      setInterval(() => this.#checkJournal(), checkEveryMs).unref()
    ]
  }

  /**
   * Journals the current row of an open call, replacing an earlier one; resolves when it is written or cannot
   * be. `addEndedCall` must follow when the call ends, with a row of the same `id` and `at_ms`.
   *
   * @returns `undefined` if there is nothing to wait for
   */
  journalOpenCall (call: JournaledCall): Promise<void> | undefined {
    if (this.#isFull) {
      // The journal may have an older row.
      this.#journaled.delete(call)
      return undefined
    }
    this.#journaled.add(call)
    const line = printLine(call.row)
    return this.#journaled.size === 1 ? this.#journal.appendNow(line) : this.#journal.append(line)
  }

  /**
   * Queues the row of an ended call; resolves when it is in the journal or cannot be.
   *
   * @param call as journaled before. Default: not journaled
   * @returns `undefined` if there is nothing to wait for
   */
  addEndedCall (row: UsageRow, call?: JournaledCall): Promise<void> | undefined {
    const { batchRows, everyMs, maxWaiting } = this.#options
    const isJournaled = call !== undefined && call.row === row && Ring.holds(call)
    if (call !== undefined) this.#journaled.delete(call)
    if (this.#isFull) {
      this.#dropped++
      return undefined
    }
    const appended = isJournaled ? undefined : this.#journal.append(printLine(row))
    if (this.#waiting.length >= maxWaiting) {
      this.#overflow++
      return appended
    }
    this.#waiting.push(row)
    // Failures have a separate retry delay.
    if (this.#failures === 0) {
      if (this.#waiting.length >= batchRows) void this.flush()
      else if (this.#timer === undefined) this.#flushIn(everyMs)
    }
    return appended
  }

  /** True while rows cannot be written to the database or the journal. */
  get degraded (): boolean {
    return this.#failures > toleratedFailures || this.#journal.error !== undefined
  }

  /** True once it is closed or closing. */
  get isClosed (): boolean {
    return this.#closing.signal.aborted
  }

  /** Number of rows not yet in the database. */
  get waiting (): number {
    return this.#waiting.length + this.#overflow
  }

  /** Rows lost since the start, because memory was full and the journal failed too. */
  get dropped (): number {
    return this.#dropped
  }

  /** Writes all waiting rows. Rows that fail are kept and retried later. */
  async flush (): Promise<void> {
    this.#writing ??= this.#write().finally(() => { this.#writing = undefined })
    await this.#writing
  }

  /** Writes pending journal lines now instead of at the end of the tick. */
  flushJournal (): void {
    this.#journal.flush()
  }

  /**
   * Imports the rows of earlier processes, and those of this one that are only in files. Runs once at a time,
   * as it may take a minute.
   */
  async importJournals (): Promise<void> {
    await (this.#importing ??= this.#importAll().finally(() => { this.#importing = undefined }))
  }

  /** Starts adding the records of an older store to its rollups. */
  backfillRollups (): void {
    const { log } = this.#options
    this.#backfilling ??= backfillRollups(this.#database, log, this.#closing.signal)
  }

  async #importAll (): Promise<void> {
    await importJournals(this.#database, { ...this.#importEvents, beforeStored: this.#options.beforeStored })
    for (const [path, open] of this.#rotatedJournals) {
      const isImported = await importJournal(this.#database, path, this.#importEvents, open)
      if (isImported) this.#rotatedJournals.delete(path)
    }
  }

  get #importEvents (): ImportEvents {
    const { log } = this.#options
    return {
      isStopped: () => this.isClosed,
      onImported: (file, rows) => log.info({ file, rows }, 'usage rows imported from a journal'),
      onFailure: (file, error) =>
        log.warn({ file, cause: loggableError(error) }, 'usage rows of a journal could not be imported')
    }
  }

  /** Deletes rows beyond the retention settings. */
  async prune (): Promise<void> {
    try {
      await this.#database.pruneUsage(this.#options.retention(), Date.now())
    } catch (error) {
      this.#options.log.warn({ cause: loggableError(error) }, 'failed to delete old usage rows')
    }
  }

  /**
   * Writes the waiting rows. Rows that the database does not accept, and open calls as interrupted, are left
   * in a journal. The database stays open.
   */
  async close (): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#timers) clearInterval(timer)
    await this.#importing // the batch in progress
    await this.#backfilling
    await this.flush()
    for (let attempt = 0; this.#waiting.length > 0 && attempt < maxFinalFlushes; attempt++) {
      await sleep(initialRetryMs)
      await this.flush()
    }
    clearTimeout(this.#timer)
    const openLines = this.#openLines
    if (this.waiting === 0) this.#journal.replace(openLines)
    if (this.waiting + openLines.length > 0) this.#leaveForNextStart(openLines)
  }

  /** True if neither memory nor the journal can take another row. */
  get #isFull (): boolean {
    return this.#waiting.length >= this.#options.maxWaiting && this.#journal.error !== undefined
  }

  /** The lines of open calls. */
  get #openLines (): string[] {
    return Array.from(this.#journaled, ({ row }) => printLine(row))
  }

  /** Writes the waiting rows in batches, then empties the journal. */
  async #write (): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      while (this.#waiting.length > 0) {
        if (!this.#database.storeFileIntact()) {
          throw new Error('the file of the store was deleted or replaced')
        }
        const rows = this.#waiting.slice(0, this.#database.maxBatchRows)
        await this.#options.beforeStored([])
        await this.#database.insertUsage(rows)
        this.#waiting.splice(0, rows.length)
        if (this.#waiting.length === 0) break
        this.#shortenJournal()
        await immediate()
      }
    } catch (error) {
      this.#failed(error)
      return
    }
    if (this.#failures > toleratedFailures) {
      this.#options.log.warn({ lost: this.#dropped - this.#droppedBefore }, 'usage ledger available again')
    }
    this.#failures = 0
    this.#droppedBefore = this.#dropped
    if (this.#overflow > 0) return this.#importOverflow()
    // Every row in memory is in the database, so the journal can drop them.
    const nowMs = performance.now()
    if (nowMs - this.#emptiedAtMs < emptyEveryMs) return
    this.#emptiedAtMs = nowMs
    this.#journal.replace(this.#openLines)
  }

  #failed (error: unknown): void {
    this.#failures++
    if (this.#failures === toleratedFailures + 1) {
      this.#options.log.error({ cause: loggableError(error) }, 'usage ledger unavailable; buffering rows')
    }
    const waitMs = Math.min(initialRetryMs * 2 ** Math.min(this.#failures, 20), maxRetryMs)
    this.#flushIn(waitMs)
  }

  #flushIn (ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined // rows added during a write need another one
      void this.flush()
    }, ms).unref()
  }

  /** Removes stored rows from the journal under constant load, when some row is always waiting. */
  #shortenJournal (): void {
    if (
      this.#overflow > 0 ||
      this.#journal.size < longJournalBytes ||
      this.#waiting.length > this.#database.maxBatchRows
    ) {
      return
    }
    this.#journal.replace([...this.#waiting.map(printLine), ...this.#openLines])
  }

  /**
   * Imports the rows that are only in the journal. Moves the journal aside first, because replacing it would
   * lose them.
   */
  #importOverflow (): void {
    const path = join(this.#database.directory, journalName())
    try {
      this.#journal.flush()
      if (this.#journal.error !== undefined) throw this.#journal.error
      this.#journal.moveTo(path)
    } catch (error) {
      this.#moveOutage.failed(error)
      return
    }
    this.#moveOutage.succeeded()
    this.#overflow = 0
    this.#rotatedJournals.set(path, new Set(Array.from(this.#journaled, ({ row }) => row.id)))
    for (const line of this.#openLines) void this.#journal.append(line)
    void this.importJournals()
  }

  /** Recreates a journal that was deleted, possibly with its folder, and retries what failed. */
  #checkJournal (): void {
    try {
      if (this.#journal.isDeleted())
        this.#journal.replace([...this.#waiting.map(printLine), ...this.#openLines])
      else if (this.#journal.error === undefined) this.#journal.touch()
      else this.#journal.flush()
      if (this.#overflow > 0 && this.#waiting.length === 0) void this.flush()
      this.#journalOutage.succeeded()
    } catch (error) {
      this.#journalOutage.failed(error)
    }
  }

  #leaveForNextStart (openLines: readonly string[]): void {
    const { log } = this.#options
    const file = join(this.#database.directory, finishedJournalName())
    let unwritten = this.#waiting.length + openLines.length
    try {
      if (this.#journal.isDeleted()) this.#journal.replace([...this.#waiting.map(printLine), ...openLines])
      this.#journal.moveTo(file)
      unwritten = Math.min(unwritten, this.#journal.unwritten)
      log.warn(
        { rows: this.waiting + openLines.length - unwritten, file },
        'unwritten usage rows saved to a file; the next start imports them'
      )
    } catch (error) {
      log.error({ file, cause: loggableError(error) }, 'failed to save unwritten usage rows to a file')
    }
    const lost = unwritten + this.#dropped
    if (lost > 0) log.error({ rows: lost, cause: loggableError(this.#journal.error) }, 'usage rows lost')
  }
}
