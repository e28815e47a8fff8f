import { PrunedMap } from '../async/pruned-map.ts'
import type { SumKey } from './counters.ts'

/** Returns what a party used in a period up to a moment, as the usage ledger has it. */
export type ReadUsed = (sum: SumKey, untilMs: number) => Promise<number>

export interface SpendingReaderOptions {
  /** Reads the usage ledger. Default: no ledger, nothing was used before. */
  readonly readUsed?: ReadUsed | undefined
  /** Called with each reading. */
  readonly onRead: (sum: SumKey, used: number) => void
  /** Called when the ledger cannot be read: sums then count what is known. */
  readonly onFailure: (error: unknown) => void
  readonly now: () => number
  /** The time for which a reading is used. */
  readonly rereadMs: number
}

interface Reading {
  readonly atMs: number
  pending: Promise<void> | undefined
}

/** Reads what parties with sums have used: at their first call, and again while they are used. */
export class SpendingReader {
  readonly #options: SpendingReaderOptions
  readonly #readings: PrunedMap<Reading>

  constructor (options: SpendingReaderOptions) {
    this.#options = options
    this.#readings = new PrunedMap(
      ({ atMs, pending }) => pending === undefined && performance.now() - atMs >= options.rereadMs
    )
  }

  /**
   * Reads the sums that are not known; calls that arrive meanwhile share one reading. @returns `undefined`
   * where all are known
   */
  read (sums: readonly SumKey[]): Promise<void> | undefined {
    if (this.#options.readUsed === undefined) return undefined
    const pending: Array<Promise<void>> = []
    for (const sum of sums) {
      const last = this.#readings.get(sum.name)
      const isRecent = last !== undefined && performance.now() - last.atMs < this.#options.rereadMs
      const reading = isRecent ? last.pending : this.#begin(sum)
      if (reading !== undefined) pending.push(reading)
    }
    return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)
  }

  /** Reads a sum in any case: what was recorded just now may not be in the last reading. */
  async readAgain (sum: SumKey): Promise<void> {
    await this.#begin(sum)
  }

  #begin (sum: SumKey): Promise<void> | undefined {
    const reading: Reading = { atMs: performance.now(), pending: undefined }
    reading.pending = this.#load(sum).finally(() => { reading.pending = undefined })
    this.#readings.set(sum.name, reading)
    return reading.pending
  }

  async #load (sum: SumKey): Promise<void> {
    const { now, readUsed, onRead, onFailure } = this.#options
    try {
      if (readUsed !== undefined) onRead(sum, await readUsed(sum, now()))
    } catch (error) {
      onFailure(error)
    }
  }
}
