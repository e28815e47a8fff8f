/**
 * The books: a row for each call, written in batches beside the calls.
 *
 * Rows wait in memory while they cannot be written, up to a bound, and in a file of the data
 * directory when the process ends first; the next start takes them in. A row that is written twice
 * is there once. The database is a connection of its own that does not wait for locks: waiting
 * would hold up every call of the process.
 */

import { randomBytes } from 'node:crypto'
import { readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { loggableError } from '../text/describe-error.ts'
import { pruneUsage, type Keep } from './prune.ts'
import type { Database, UsageRow } from '../stores/database.ts'
import type { Log } from '../telemetry/log.ts'

export interface LedgerOptions {
  readonly log: Log
  readonly keep: () => Keep
  /** Rows that are waited for before they are written. Default 200. */
  readonly batchRows?: number
  /** How long a row waits at most for others. Default 500. */
  readonly everyMs?: number
  /** Rows that may wait while they cannot be written; those after it are lost. Default 100,000. */
  readonly mostWaiting?: number
}

/** Rows of one statement: about a millisecond. */
const statementRows = 50
/** Another process may be writing. Failures after these are failures of the database. */
const quietFailures = 5
const firstRetryMs = 20
const longestRetryMs = 10_000
const tidyEveryMs = 10 * 60_000
const spoolName = /^usage-[\w-]+\.jsonl$/

export class Ledger {
  readonly #database: Database
  readonly #options: Required<LedgerOptions>
  readonly #name = randomBytes(9).toString('base64url')
  readonly #tidying: NodeJS.Timeout
  #waiting: UsageRow[] = []
  #dropped = 0
  #toldDropped = 0
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor (database: Database, options: LedgerOptions) {
    this.#database = database
    this.#options = { batchRows: 200, everyMs: 500, mostWaiting: 100_000, ...options }
    this.#tidying = setInterval(() => { void this.takeIn().then(async () => await this.prune()) }, tidyEveryMs).unref()
  }

  /** Takes a row, to be written soon. */
  add (row: UsageRow): void {
    const { batchRows, everyMs, mostWaiting } = this.#options
    if (this.#waiting.length >= mostWaiting) {
      this.#dropped++
      return
    }
    this.#waiting.push(row)
    if (this.#failures > 0) return // the next attempt has its time
    if (this.#waiting.length >= batchRows) void this.flush()
    else this.#timer ??= setTimeout(() => { void this.flush() }, everyMs).unref()
  }

  /** True while rows cannot be written. */
  get degraded (): boolean {
    return this.#failures > quietFailures
  }

  /** Rows that are not written yet. */
  get waiting (): number {
    return this.#waiting.length
  }

  /** Rows that were lost since the start, as too many waited. */
  get dropped (): number {
    return this.#dropped
  }

  /** Writes what waits now. What cannot be written stays, and is tried again by itself. */
  async flush (): Promise<void> {
    this.#writing ??= this.#write().finally(() => { this.#writing = undefined })
    await this.#writing
  }

  /** Takes in what earlier processes could not write. */
  async takeIn (): Promise<void> {
    const directory = dirname(this.#database.path)
    const names = await readdir(directory).catch(() => []) // a directory that is gone holds none
    for (const name of names.filter(name => spoolName.test(name))) {
      const path = join(directory, name)
      try {
        await this.#insert(readSpool(await readFile(path, 'utf8')))
        await rm(path, { force: true })
      } catch (error) {
        // Another process of the same gateway may have been faster.
        if (!isGone(error)) this.#options.log.warn({ file: path, cause: loggableError(error) }, 'calls of an earlier process could not be taken into the books')
      }
    }
  }

  /** Deletes rows that are older, or more, than are kept. */
  async prune (): Promise<void> {
    try {
      await pruneUsage(this.#database.query, this.#options.keep(), Date.now())
    } catch (error) {
      this.#options.log.warn({ cause: loggableError(error) }, 'old rows of the books could not be deleted')
    }
  }

  /** Writes what waits, to a file if need be. The database stays open. */
  async close (): Promise<void> {
    clearInterval(this.#tidying)
    await this.flush()
    for (let attempt = 0; this.#waiting.length > 0 && attempt < quietFailures; attempt++) {
      await sleep(firstRetryMs)
      await this.flush()
    }
    clearTimeout(this.#timer)
    if (this.#waiting.length > 0) await this.#spool()
  }

  async #write (): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      while (this.#waiting.length > 0) {
        const rows = this.#waiting.slice(0, statementRows)
        await this.#insert(rows)
        this.#waiting.splice(0, rows.length)
        if (this.#waiting.length > 0) await nextTurn()
      }
      this.#recovered()
    } catch (error) {
      this.#failed(error)
    }
  }

  async #insert (rows: readonly UsageRow[]): Promise<void> {
    for (let at = 0; at < rows.length; at += statementRows) {
      await this.#database.query.insertInto('usage').values(rows.slice(at, at + statementRows))
        .onConflict(conflict => conflict.column('id').doNothing()).execute()
    }
  }

  #failed (error: unknown): void {
    this.#failures++
    if (this.#failures === quietFailures + 1) {
      this.#options.log.error({ cause: loggableError(error) }, 'the books cannot be written; calls go on, and their rows wait in memory')
    }
    const waitMs = Math.min(firstRetryMs * 2 ** Math.min(this.#failures, 20), longestRetryMs)
    this.#timer = setTimeout(() => { void this.flush() }, waitMs).unref()
  }

  #recovered (): void {
    if (this.degraded) this.#options.log.warn({ lost: this.#lost }, 'the books are written again')
    this.#failures = 0
    this.#toldDropped = this.#dropped
  }

  /** Lost rows that nobody was told of. */
  get #lost (): number {
    return this.#dropped - this.#toldDropped
  }

  async #spool (): Promise<void> {
    const { log } = this.#options
    const file = join(dirname(this.#database.path), `usage-${this.#name}.jsonl`)
    const rows = this.#waiting.length
    try {
      // Nobody reads it before it is whole.
      await writeFile(`${file}.part`, this.#waiting.map(row => `${JSON.stringify(row)}\n`).join(''), { mode: 0o600 })
      await rename(`${file}.part`, file)
      this.#waiting = []
      log.warn({ rows, file, lost: this.#lost }, 'the last rows of the books are in a file; the next start takes them in')
    } catch (error) {
      log.error({ rows: rows + this.#lost, cause: loggableError(error) }, 'the last rows of the books are lost')
    }
  }
}

function readSpool (text: string): UsageRow[] {
  return text.split('\n').filter(line => line !== '').map(line => JSON.parse(line) as UsageRow) // written by us
}

function isGone (error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
