/**
 * Bounds what waits for a collector and counts what is dropped, because OpenTelemetry's packages drop
 * silently.
 */

import { loggableError } from '../text/describe-error.ts'
import type { Log } from '../log/log.ts'

/** The subset of an exporter in use, such as `OTLPTraceExporter`. */
export interface Exporter<T> {
  export: (items: T, onResult: (result: ExportResult) => void) => void
}

interface ExportResult {
  readonly code: number
  readonly error?: Error
}

/** The value of `ExportResultCode`, without depending on its package. */
const exportSucceeded = 0
export const exportFailed = 1
/** Milliseconds between two log lines about dropped data. */
const sayEveryMs = 60_000

export class ExportCounter {
  readonly #maxWaiting: number
  readonly #log: Log
  readonly #message: string
  #waiting = 0
  #dropped = 0
  #saidAtMs = -Infinity

  /** @param message logged when something is dropped, at most once a minute */
  constructor (maxWaiting: number, log: Log, message: string) {
    this.#maxWaiting = maxWaiting
    this.#log = log
    this.#message = message
  }

  /** Number of items dropped since the start. */
  get dropped (): number {
    return this.#dropped
  }

  /** Counts one more waiting item. @returns false if there is no room and the item is dropped */
  add (): boolean {
    if (this.#waiting >= this.#maxWaiting) {
      this.#drop(1)
      return false
    }
    this.#waiting++
    return true
  }

  /** Exports waiting items. */
  send<T> (exporter: Exporter<T>, items: T, count: number, onResult: (result: ExportResult) => void): void {
    exporter.export(items, result => {
      this.#waiting -= count
      if (result.code !== exportSucceeded) this.#drop(count, result.error)
      onResult(result)
    })
  }

  /** Counts what could not be exported before shutdown as dropped. */
  dropWaiting (): void {
    if (this.#waiting > 0) this.#drop(this.#waiting)
    this.#waiting = 0
  }

  #drop (count: number, error?: Error): void {
    this.#dropped += count
    const nowMs = performance.now()
    if (nowMs - this.#saidAtMs < sayEveryMs) return
    this.#saidAtMs = nowMs
    this.#log.warn(
      { dropped: this.#dropped, ...error !== undefined && { cause: loggableError(error) } },
      this.#message
    )
  }
}
