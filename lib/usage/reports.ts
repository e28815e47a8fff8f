/**
 * Makes reports for the dashboard from the usage rows. SQLite blocks the calling thread, so its reports run
 * in a separate thread, which starts with the first report and exits when idle. PostgreSQL needs no thread.
 */

import { Worker } from 'node:worker_threads'
import { isolated } from '../async/run-in-worker.ts'
import { GatewayError } from '../core/errors.ts'
import { isSqlite, type Database } from '../stores/database.ts'
import { attemptsReport } from './attempts-report.ts'
import { findBodies } from './bodies-report.ts'
import { endedCalls, findCall, listCalls } from './calls-report.ts'
import { exportPage } from './export-usage.ts'
import { stagesReport } from './stages-report.ts'
import { usageReport } from './usage-report.ts'
import { activeKeys, failedCalls, hourSpending, spentBy } from './watch-reports.ts'
import { windowSums } from './window-sums.ts'

/** The reports by name. Each takes the store and structured-cloneable values. */
export const reports = {
  usageReport, attemptsReport, listCalls, findCall, findBodies, endedCalls, exportPage, stagesReport,
  activeKeys, spentBy, hourSpending, failedCalls, windowSums
}

export type ReportName = keyof typeof reports
export type ArgumentsOf<N extends ReportName> =
  Parameters<(typeof reports)[N]> extends [unknown, ...infer Rest] ? Rest : never
export type ResultOf<N extends ReportName> = Awaited<ReturnType<(typeof reports)[N]>>

/** A report request to the thread. */
export interface ReportJob {
  readonly id: number
  readonly name: ReportName
  readonly values: readonly unknown[]
}

/** The thread's reply to a report request. */
export interface ReportResult {
  readonly id: number
  readonly result?: unknown
  readonly error?: unknown
}

/** Longest time for a report, including the start of the thread. */
const jobMs = 15_000
const idleMs = 60_000
const maxWaiting = 50

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

export class Reports {
  readonly #database: Database
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #last = 0

  constructor (database: Database) {
    this.#database = database
  }

  /** @throws GatewayError `overloaded` when too many reports are waiting, or one takes too long */
  async make<N extends ReportName> (name: N, ...values: ArgumentsOf<N>): Promise<ResultOf<N>> {
    if (!isSqlite(this.#database)) {
      // arguments of the same report
      const report = reports[name] as (...given: unknown[]) => Promise<ResultOf<N>>
      return await report(this.#database.query, ...values)
    }
    if (this.#waiting.size >= maxWaiting) throw tooMany()
    return await new Promise<ResultOf<N>>((resolve, reject) => {
      const id = ++this.#last
      const isFirst = this.#waiting.size === 0
      // result of the same report
      this.#waiting.set(id, { resolve: result => resolve(result as ResultOf<N>), reject })
      this.#worker ??= this.#start()
      this.#worker.postMessage({ id, name, values } satisfies ReportJob)
      // the thread makes one report at a time; the timer belongs to the first
      if (isFirst) this.#keepTime()
    })
  }

  /** Stops the thread; open reports fail. */
  async close (): Promise<void> {
    clearTimeout(this.#timer)
    await this.#end()
  }

  #start (): Worker {
    const worker = new Worker(new URL('./report-worker.js', import.meta.url), {
      workerData: { directory: this.#database.directory }, ...isolated
    })
    worker.unref()
    worker.on('message', ({ id, result, error }: ReportResult) => {
      const waiting = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(error)
      if (this.#worker === worker) this.#keepTime()
    })
    // It exits after an error; a new thread may be running by then.
    worker.on('error', () => undefined)
    worker.on('exit', () => { if (this.#worker === worker) void this.#end() })
    return worker
  }

  /** Stops a thread that is idle, or whose report takes too long. */
  #keepTime (): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => { void this.#end() }, this.#waiting.size === 0 ? idleMs : jobMs).unref()
  }

  async #end (): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(tooMany())
    this.#waiting.clear()
    await worker?.terminate()
  }
}

function tooMany (): GatewayError {
  return new GatewayError('overloaded', {
    message: 'The report takes too long. Choose a shorter period, or try again later.',
    retryAfterSeconds: 5
  })
}
