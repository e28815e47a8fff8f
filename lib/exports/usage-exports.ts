/**
 * Writes files of usage rows, one per hour or day, to the configured targets. The store records what is to be
 * written and what was, so that one of all processes writes each file, even after a crash.
 *
 * Rows may come late: of calls that took long, and of killed processes. A window is written some minutes
 * after its end, and again under the same name if its sums have changed since.
 */

import { Outage } from '../async/outage.ts'
import { startDeadline, tooLate } from '../async/start-deadline.ts'
import { dayMs } from '../core/day.ts'
import { describeError, loggableError } from '../text/describe-error.ts'
import { printPages, type ExportFormat } from '../usage/export-usage.ts'
import type { UsageExportPage } from '../../schemas/admin/exports.ts'
import type { Log } from '../log/log.ts'
import type { PageRequest } from '../stores/pages.ts'
import type { UsageExportRow } from '../stores/tables.ts'
import type { UsageColumn } from '../stores/usage-columns.ts'
import type { Reports } from '../usage/reports.ts'
import type { Destination } from './destination.ts'
import type { ExportOutcome, ExportStore } from './export-store.ts'
import { fileName, windowAt, windowFrom, type WindowLength } from './export-window.ts'
import { removeLeftovers, withFile } from './write-file.ts'

/** An entry of `usage.exports`. */
export interface ExportTarget {
  readonly destination: Destination
  readonly format: ExportFormat
  readonly gzip: boolean
  readonly every: WindowLength
  readonly columns?: readonly UsageColumn[] | undefined
}

export interface UsageExportsOptions {
  /** By name. */
  readonly targets: ReadonlyMap<string, ExportTarget>
  readonly store: ExportStore
  readonly reports: Pick<Reports, 'make'>
  readonly log: Log
  readonly onClose?: () => Promise<void>
  /** Milliseconds between the end of a window and its writing. Default: 15 minutes. */
  readonly settleMs?: number
  /** Maximum duration of an attempt. Default: 29 minutes. */
  readonly attemptMs?: number
  /** Milliseconds after which another process retries a window that this one has taken and not finished. */
  readonly leaseMs?: number
  /** Milliseconds to wait after each failed attempt; the last value repeats. */
  readonly retryMs?: readonly number[]
}

/** Counts the attempts of this process for a target. */
export interface ExportCounts {
  written: number
  failed: number
}

const minuteMs = 60_000
const defaultRetryMs = [1, 2, 5, 15, 30, 60].map(minutes => minutes * minuteMs)
/** How long windows are compared with their rows. */
const comparedMs = 31 * dayMs
/** How long windows are listed. */
const keptMs = 366 * dayMs
/** Maximum length of a description of a failure. */
const maxErrorLength = 300

export class UsageExports {
  readonly #options: Required<UsageExportsOptions>
  readonly #closing = new AbortController()
  readonly #counts: ReadonlyMap<string, ExportCounts>
  /** Why the last attempt failed, in this process or in another one, by target. */
  readonly #failures = new Map<string, string>()
  /** Checks in progress, by target. */
  readonly #polling = new Map<string, Promise<void>>()
  readonly #outage = new Outage({
    onBegin: error => {
      this.#options.log.warn({ cause: loggableError(error) }, 'failed to read exports from the store')
    }
  })

  constructor (options: UsageExportsOptions) {
    this.#options = {
      onClose: async () => undefined,
      settleMs: 15 * minuteMs, attemptMs: 29 * minuteMs, leaseMs: 30 * minuteMs, retryMs: defaultRetryMs,
      ...options
    }
    this.#counts = new Map([...options.targets.keys()].map(name => [name, { written: 0, failed: 0 }]))
  }

  /**
   * Writes the due files. Called every few seconds; a check in progress continues. A failing or slow target
   * does not delay the others.
   */
  poll (): void {
    for (const [name, target] of this.#options.targets) {
      if (this.#polling.has(name)) continue
      this.#polling.set(name, this.#poll(name, target).finally(() => this.#polling.delete(name)))
    }
  }

  /**
   * Writes the due files, without waiting after failed attempts.
   *
   * @throws StoreError
   */
  async run (): Promise<void> {
    for (const [name, target] of this.#options.targets) {
      await this.#options.store.hurry(name)
      await this.#export(name, target)
    }
  }

  /**
   * Starts writing the due files of a target, including those waiting after a failed attempt.
   *
   * @returns their number; `undefined` if there is no such target
   * @throws StoreError
   */
  async start (name: string): Promise<number | undefined> {
    if (!this.#options.targets.has(name)) return undefined
    const { store } = this.#options
    await store.hurry(name)
    const due = await store.countDue(name)
    this.poll()
    return due
  }

  /** Lists files, newest first. */
  async list (target: string | undefined, page: PageRequest): Promise<UsageExportPage> {
    return await this.#options.store.list(target, page)
  }

  get targets (): ReadonlyMap<string, ExportTarget> {
    return this.#options.targets
  }

  /** Attempts of this process, by target. */
  get counts (): ReadonlyMap<string, Readonly<ExportCounts>> {
    return this.#counts
  }

  /** Why files cannot be written at the moment, by target. */
  get failures (): ReadonlyMap<string, string> {
    return this.#failures
  }

  /** Ends attempts in flight; another process writes the files, or this one after its next start. */
  readonly close = async (): Promise<void> => {
    this.#closing.abort(new Error('the gateway is stopping'))
    await Promise.all(this.#polling.values())
    await Promise.all([...this.#options.targets.values()].map(async ({ destination }) => {
      await destination.close()
    }))
    await this.#options.onClose()
  }

  async #poll (name: string, target: ExportTarget): Promise<void> {
    try {
      await this.#export(name, target)
      this.#outage.succeeded()
    } catch (error) {
      this.#outage.failed(error)
    }
  }

  async #export (name: string, target: ExportTarget): Promise<void> {
    const { store, leaseMs } = this.#options
    await this.#plan(name, target)
    while (!this.#closing.signal.aborted) {
      const due = await store.take(name, leaseMs)
      if (due === undefined) {
        // Another process, or this one before a reload, may have failed or written the file.
        const failure = await store.failureOf(name)
        if (failure === undefined) this.#failures.delete(name)
        else this.#failures.set(name, failure)
        return
      }
      const outcome = await this.#attempt(due, target)
      await store.finish(due, outcome)
      if (outcome.state !== 'written') return
      if (due.revision === 0) await this.#compare(name)
    }
  }

  /**
   * Adds the windows that have begun since the last one; the first is the current one. Each is listed from
   * its start, so that lists show what comes next.
   */
  async #plan (name: string, { every }: ExportTarget): Promise<void> {
    const { store, settleMs } = this.#options
    const now = store.now()
    const endMs = await store.endOf(name)
    let window = endMs === undefined ? windowAt(now, every) : windowFrom(endMs, every)
    for (; window.fromMs <= now; window = windowFrom(window.untilMs, every)) {
      await store.add(name, window, window.untilMs + settleMs)
    }
  }

  /** Writes a file once. */
  async #attempt (due: UsageExportRow, target: ExportTarget): Promise<ExportOutcome> {
    const { store, log, attemptMs, retryMs } = this.#options
    const { target: name, attempts } = due
    const counts = this.#counts.get(name)
    const { signal, end } = startDeadline(attemptMs, this.#closing.signal, tooLate(attemptMs))
    try {
      const written = await this.#write(due, target, signal)
      if (counts !== undefined) counts.written++
      if (this.#failures.delete(name)) log.info({ target: name }, 'usage is exported again')
      return {
        ...written, state: 'written', attempts: 0, error: null, written_at_ms: store.now()
      }
    } catch (error) {
      // A stop is no failure: the next process goes on at once.
      if (this.#closing.signal.aborted) return { attempts: attempts - 1, next_at_ms: store.now() }
      if (counts !== undefined) counts.failed++
      const failure = describeError(error).slice(0, maxErrorLength)
      this.#failures.set(name, failure)
      const from = new Date(due.from_ms).toISOString()
      log.error({ target: name, from, attempts, cause: loggableError(error) }, 'usage could not be exported')
      return {
        error: failure,
        next_at_ms: store.now() + (retryMs[attempts - 1] ?? retryMs.at(-1) ?? 0)
      }
    } finally {
      end()
    }
  }

  async #write (
    due: UsageExportRow,
    { destination, format, gzip, columns }: ExportTarget,
    signal: AbortSignal
  ): Promise<ExportOutcome> {
    const { reports, log, leaseMs } = this.#options
    const window = { fromMs: due.from_ms, untilMs: due.until_ms }
    // Before the records: one that comes meanwhile is then seen as late.
    const [{ calls, digest: sums } = { calls: 0, digest: '' }] = await reports.make('windowSums', [window])
    let rows = 0
    const pages = printPages(format, async after => {
      signal.throwIfAborted()
      const page = await reports.make('exportPage', window, format, after, columns)
      rows += page.rows
      return page
    }, columns)
    const file = fileName(window, gzip ? `${format}.gz` : format)
    let bytes = 0
    await removeLeftovers(destination.workFolder, Date.now() - leaseMs)
    await withFile(destination.workFolder, pages, { gzip, signal }, async (path, size) => {
      bytes = size
      if (rows >= due.rows) await destination.publish(path, file, signal)
    })
    const from = new Date(window.fromMs).toISOString()
    if (rows < due.rows) {
      const problem = 'late usage was not exported: older records of its window are deleted'
      log.warn({ target: due.target, from, rows }, problem)
      return { calls, sums }
    }
    const revision = due.revision + 1
    log.info({ target: due.target, file, rows, revision }, 'usage exported')
    return { file, revision, rows, bytes, calls, sums }
  }

  /** Finds windows that have got records since. Fewer were deleted, and stay in the file. */
  async #compare (name: string): Promise<void> {
    const { store, reports } = this.#options
    const written = await store.written(name, store.now() - comparedMs)
    const windows = written.map(({ from_ms: fromMs, until_ms: untilMs }) => ({ fromMs, untilMs }))
    const found = await reports.make('windowSums', windows)
    for (const [index, row] of written.entries()) {
      const now = found[index]
      if (now !== undefined && now.digest !== row.sums && now.calls >= row.calls) await store.reopen(row)
    }
    await store.prune(name, store.now() - keptMs)
  }
}
