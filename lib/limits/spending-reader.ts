import { PrunedMap } from '../async/pruned-map.ts'
import type { Period } from './budget.ts'

/** Returns what a key spent in a period up to a moment, in billionths of a dollar. */
export type ReadSpending = (keyId: string, fromMs: number, untilMs: number) => Promise<number>

export interface SpendingReaderOptions {
  /** Reads the usage ledger. Default: no ledger, nothing was spent before. */
  readonly readSpending?: ReadSpending | undefined
  /** Called with each reading. */
  readonly onRead: (keyId: string, period: Period, spent: number) => void
  /** Called when the ledger cannot be read: budgets then count what is known. */
  readonly onFailure: (error: unknown) => void
  readonly now: () => number
  /** The time for which a reading is used. */
  readonly rereadMs: number
}

interface Reading {
  readonly atMs: number
  pending: Promise<void> | undefined
}

/** Reads what keys with a budget have spent: at their first call, and again while they are used. */
export class SpendingReader {
  readonly #options: SpendingReaderOptions
  readonly #readings: PrunedMap<Reading>

  constructor (options: SpendingReaderOptions) {
    this.#options = options
    this.#readings = new PrunedMap(({ atMs, pending }) => pending === undefined && performance.now() - atMs >= options.rereadMs)
  }

  /** Reads the spending unless it is known; calls that arrive meanwhile share one reading. */
  read (keyId: string, period: Period | undefined): Promise<void> | undefined {
    const { readSpending, rereadMs } = this.#options
    if (period === undefined || readSpending === undefined) return undefined
    const last = this.#readings.get(readingName(keyId, period))
    if (last !== undefined && performance.now() - last.atMs < rereadMs) return last.pending
    return this.#read(keyId, period, readSpending)
  }

  /** Reads the spending in any case: what was recorded just now may not be in the last reading. */
  async readAgain (keyId: string, period: Period): Promise<void> {
    const { readSpending } = this.#options
    if (readSpending !== undefined) await this.#read(keyId, period, readSpending)
  }

  #read (keyId: string, period: Period, readSpending: ReadSpending): Promise<void> | undefined {
    const reading: Reading = { atMs: performance.now(), pending: undefined }
    reading.pending = this.#load(keyId, period, readSpending).finally(() => { reading.pending = undefined })
    this.#readings.set(readingName(keyId, period), reading)
    return reading.pending
  }

  async #load (keyId: string, period: Period, readSpending: ReadSpending): Promise<void> {
    const { now, onRead, onFailure } = this.#options
    try {
      onRead(keyId, period, await readSpending(keyId, period.fromMs, now()))
    } catch (error) {
      onFailure(error)
    }
  }
}

function readingName (keyId: string, { per }: Period): string {
  return `${per} ${keyId}`
}
