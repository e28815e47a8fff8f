/**
 * Writes the usage ledger, a row for each call, to the database in batches in the background.
 *
 * Until a row is in the database it is in the journal as well, from before the last byte of the
 * answer left: a call whose caller has the answer is stored, even if this process is killed. The
 * database connection does not wait for locks: waiting would block every call.
 */

import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Ring, RingMember } from '../async/ring.ts'
import { loggableError } from '../text/describe-error.ts'
import { importJournal, importJournals, type ImportEvents } from './import-journals.ts'
import { Journal, printLine } from './journal.ts'
import { finishedJournalName, journalName } from './journal-name.ts'
import { keepSummingUp } from './keep-summing-up.ts'
import type { BegunRow } from './begun-row.ts'
import type { Database, Retention } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { Log } from '../log/log.ts'

export interface LedgerOptions {
  /**
   * Called before rows are stored, with those of processes that were killed, and with none for rows of this
   * process. Default: nothing is done before.
   */
  readonly beforeStored?: (imported: readonly UsageRow[]) => Promise<void>
  readonly log: Log
  readonly retention: () => Retention
  /** Rows that make a batch. Default 200. */
  readonly batchRows?: number
  /** Milliseconds that a row waits for others at most. Default 500. */
  readonly everyMs?: number
  /**
   * Rows that may wait in memory while they cannot be written; those after it are in the journal only.
   * Default 100,000.
   */
  readonly maxWaiting?: number
}

/** The first failures are expected while another process writes; more are failures of the database. */
const failuresBeforeLogging = 5
const initialRetryMs = 20
const maxRetryMs = 10_000
const pruneEveryMs = 10 * 60_000
const importEveryMs = 30_000
const checkEveryMs = 1000
/** Emptying a journal while calls end replaces it by another file, 0.1 ms: not after every batch. */
const emptyEveryMs = 250
/** Bytes of a journal that is shortened while rows wait: a second of the busiest process. */
const longJournalBytes = 8 * 1024 * 1024

/** A call that is in the journal, but has not ended yet: what is known of it may change. */
export class JournaledCall extends RingMember {
  /** The row as it is in the journal. */
  row: UsageRow | BegunRow
  /** Resolves when it is in the journal; `undefined` where it is, or cannot be. */
  written: Promise<void> | undefined

  constructor (row: UsageRow | BegunRow) {
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
   * Journals of this process that are complete and not imported yet, with the rows of the calls that were
   * open at their end: those are in the present journal as well, and what the complete one says of them is
   * not the last word.
   */
  readonly #moved = new Map<string, ReadonlySet<string>>()
  #waiting: UsageRow[] = []
  /** Rows of the journal that are not in memory. */
  #overflow = 0
  #dropped = 0
  #failures = 0
  #emptiedMs = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #importing: Promise<void> | undefined
  #summing: Promise<void> | undefined
  readonly #closing = new AbortController()

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
   * Journals what is known of an open call, in place of what was before; resolves when it is in the journal,
   * or cannot be. The call is added once it has ended, with a row of the same `id` and `at_ms`.
   *
   * @returns `undefined` where there is nothing to wait for
   */
  record (call: JournaledCall): Promise<void> | undefined {
    if (this.#hasNoPlace) {
      // What the journal may have of it is not this row.
      this.#journaled.delete(call)
      return undefined
    }
    this.#journaled.add(call)
    const line = lineOf(call.row)
    return this.#journaled.size === 1 ? this.#journal.appendNow(line) : this.#journal.append(line)
  }

  /**
   * Takes the row of a call that has ended, to be written soon; resolves when it is in the journal, or cannot
   * be.
   *
   * @param call as it was journaled before. Default: it was not
   * @returns `undefined` where there is nothing to wait for
   */
  add (row: UsageRow, call?: JournaledCall): Promise<void> | undefined {
    const { batchRows, everyMs, maxWaiting } = this.#options
    const isJournaled = call !== undefined && call.row === row && Ring.holds(call)
    if (call !== undefined) this.#journaled.delete(call)
    if (this.#hasNoPlace) {
      this.#dropped++
      return undefined
    }
    const appended = isJournaled ? undefined : this.#journal.append(printLine(row))
    if (this.#waiting.length >= maxWaiting) {
      this.#overflow++
      return appended
    }
    this.#waiting.push(row)
    // After a failure the next attempt has its own time.
    if (this.#failures === 0) {
      if (this.#waiting.length >= batchRows) void this.flush()
      else if (this.#timer === undefined) this.#flushIn(everyMs)
    }
    return appended
  }

  /** True while rows cannot be written, to the database or to the journal. */
  get degraded (): boolean {
    return this.#failures > failuresBeforeLogging || this.#journal.error !== undefined
  }

  /** True once it is closed, or is being closed. */
  get isClosed (): boolean {
    return this.#closing.signal.aborted
  }

  /** Rows that are not in the database yet. */
  get waiting (): number {
    return this.#waiting.length + this.#overflow
  }

  /** Rows lost since the start: too many waited, and the journal could not be written either. */
  get dropped (): number {
    return this.#dropped
  }

  /** Writes the rows that wait. Those that cannot be written stay, and are tried again later. */
  async flush (): Promise<void> {
    this.#writing ??= this.#write().finally(() => { this.#writing = undefined })
    await this.#writing
  }

  /** Writes to the journal now what would be written at the end of this turn of the event loop. */
  flushJournal (): void {
    this.#journal.flush()
  }

  /**
   * Imports the rows that earlier processes could not write, and those of this one that are in files only:
   * once at a time, as it may take a minute.
   */
  async importJournals (): Promise<void> {
    await (this.#importing ??= this.#importAll().finally(() => { this.#importing = undefined }))
  }

  /** Begins to sum up the records of a store of an earlier version. */
  sumUp (): void {
    this.#summing ??= keepSummingUp(this.#database, this.#options.log, this.#closing.signal)
  }

  async #importAll (): Promise<void> {
    await importJournals(this.#database, { ...this.#importEvents, beforeStored: this.#options.beforeStored })
    for (const [path, open] of this.#moved) {
      if (await importJournal(this.#database, path, this.#importEvents, open)) this.#moved.delete(path)
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

  /** Deletes rows that are older, or more, than the settings keep. */
  async prune (): Promise<void> {
    try {
      await this.#database.pruneUsage(this.#options.retention(), Date.now())
    } catch (error) {
      this.#options.log.warn({ cause: loggableError(error) }, 'failed to delete old usage rows')
    }
  }

  /**
   * Writes the rows that wait, and leaves in a file those that the database does not take and those of calls
   * that are still open: as the journal has them, interrupted. The database stays open.
   */
  async close (): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#timers) clearInterval(timer)
    await this.#importing // the batch that is being written
    await this.#summing
    await this.flush()
    for (let attempt = 0; this.#waiting.length > 0 && attempt < failuresBeforeLogging; attempt++) {
      await sleep(initialRetryMs)
      await this.flush()
    }
    clearTimeout(this.#timer)
    const openLines = this.#openLines
    if (this.waiting === 0) this.#journal.replace(openLines)
    if (this.waiting + openLines.length > 0) this.#leaveForNextStart(openLines)
  }

  /** True when neither memory nor the journal takes another row. */
  get #hasNoPlace (): boolean {
    return this.#waiting.length >= this.#options.maxWaiting && this.#journal.error !== undefined
  }

  /** The lines of open calls. */
  get #openLines (): string[] {
    return Array.from(this.#journaled, ({ row }) => lineOf(row))
  }

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
        await nextTurn()
      }
    } catch (error) {
      this.#failed(error)
      return
    }
    this.#written()
  }

  #failed (error: unknown): void {
    this.#failures++
    if (this.#failures === failuresBeforeLogging + 1) {
      this.#options.log.error({ cause: loggableError(error) }, 'usage ledger unavailable; buffering rows')
    }
    const waitMs = Math.min(initialRetryMs * 2 ** Math.min(this.#failures, 20), maxRetryMs)
    this.#flushIn(waitMs)
  }

  #flushIn (ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined // also where rows are being written: what comes after them needs another one
      void this.flush()
    }, ms).unref()
  }

  /** Called when every row in memory is in the database: the journal need not have them any more. */
  #written (): void {
    if (this.#failures > failuresBeforeLogging) {
      this.#options.log.warn({ lost: this.#dropped }, 'usage ledger available again')
    }
    this.#failures = 0
    if (this.#overflow > 0) return this.#importOverflow()
    const nowMs = performance.now()
    if (nowMs - this.#emptiedMs < emptyEveryMs) return
    this.#emptiedMs = nowMs
    this.#journal.replace(this.#openLines)
  }

  /**
   * Takes from the journal what is in the database while calls never leave a moment without a row that waits.
   */
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
   * Imports the rows that are in the journal only, from a file of their own while calls go on. Until that is
   * made, the journal stays as it is: replacing it would lose them.
   */
  #importOverflow (): void {
    const path = join(this.#database.directory, journalName())
    try {
      this.#journal.flush()
      if (this.#journal.error !== undefined) throw this.#journal.error
      this.#journal.moveTo(path)
    } catch (error) {
      this.#options.log.error(
        { file: this.#journal.path, cause: loggableError(error) },
        'usage rows left in the journal; will be imported later'
      )
      return
    }
    this.#overflow = 0
    this.#moved.set(path, new Set(Array.from(this.#journaled, ({ row }) => row.id)))
    for (const line of this.#openLines) void this.#journal.append(line)
    void this.importJournals()
  }

  /**
   * Notices a journal that was deleted, with its directory perhaps, and makes another; tries again what
   * failed.
   */
  #checkJournal (): void {
    try {
      if (this.#journal.isDeleted())
        this.#journal.replace([...this.#waiting.map(printLine), ...this.#openLines])
      else if (this.#journal.error === undefined) this.#journal.touch()
      else this.#journal.flush()
      if (this.#overflow > 0 && this.#waiting.length === 0) void this.flush()
    } catch (error) {
      this.#options.log.warn(
        { file: this.#journal.path, cause: loggableError(error) },
        'usage journal cannot be checked'
      )
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
        'unwritten usage rows left in a file; will be imported on next start'
      )
    } catch (error) {
      log.error({ file, cause: loggableError(error) }, 'usage rows cannot be left in a file')
    }
    const lost = unwritten + this.#dropped
    if (lost > 0) log.error({ rows: lost, cause: loggableError(this.#journal.error) }, 'usage rows lost')
  }
}

function lineOf (row: UsageRow | BegunRow): string {
  return 'line' in row ? row.line : printLine(row)
}
