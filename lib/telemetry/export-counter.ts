/**
 * Bounds what waits for a collector, and counts what it does not get: by themselves OpenTelemetry's packages
 * drop without a word.
 */

import { loggableError } from '../text/describe-error.ts'
import type { Log } from '../log/log.ts'

/** The part of an exporter that is needed: `OTLPTraceExporter` and the like. */
export interface Exporter<T> {
  export: (items: T, onResult: (result: ExportResult) => void) => void
}

interface ExportResult {
  readonly code: number
  readonly error?: Error
}

/** Those of `ExportResultCode`, of a package that is not needed for anything else. */
const exportSucceeded = 0
export const exportFailed = 1
/** Milliseconds between two lines of the log about what was dropped. */
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

  /** What was dropped since the start. */
  get dropped (): number {
    return this.#dropped
  }

  /** Counts one more that waits. @returns false where there is no room, and it is dropped */
  add (): boolean {
    if (this.#waiting >= this.#maxWaiting) {
      this.#drop(1)
      return false
    }
    this.#waiting++
    return true
  }

  /** Exports what has waited. */
  send<T> (exporter: Exporter<T>, items: T, count: number, onResult: (result: ExportResult) => void): void {
    exporter.export(items, result => {
      this.#waiting -= count
      if (result.code !== exportSucceeded) this.#drop(count, result.error)
      onResult(result)
    })
  }

  /** Counts what was not sent before a stop. */
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
