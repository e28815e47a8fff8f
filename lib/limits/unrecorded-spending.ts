/**
 * Keeps the usage of calls until their rows are in the store, summed by party and period: a reservation reads
 * one sum, however many calls there are.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import type { UsageRowKey } from './reservation.ts'
import { heldSumName, type HeldSum, type Holding } from './sum-keys.ts'

/** Returns the ids of the rows that are in the store. */
export type FindRecorded = (rows: readonly UsageRowKey[]) => Promise<ReadonlySet<string>>

/** Rows per lookup, which takes a millisecond. */
const batchRows = 500

interface Spent extends Holding {
  /** `performance.now()` at the end of the call. */
  readonly endedMs: number
  readonly row: UsageRowKey | undefined
}

interface Sum extends Holding {
  readonly calls: number
}

/** Usage of ended calls whose rows the store may not have yet. */
export class UnrecordedSpending {
  /** By party, unit and period; sums without calls are removed. */
  readonly #sums = new Map<string, Sum>()
  /** Calls in the order in which they ended. */
  #recent: Spent[] = []
  /** Calls to look up in the store. */
  #due: Spent[] = []
  #isForgetting = false

  /** Adds an ended call. @param row its usage row; without one it counts until it is due */
  add (
    { party, unit, fromMs, amount }: Holding,
    row: UsageRowKey | undefined,
    nowMs = performance.now()
  ): void {
    this.#recent.push({ party, unit, fromMs, amount, endedMs: nowMs, row })
    this.#change({ party, unit, fromMs, amount }, 1)
  }

  /** Returns the used amount of a sum. */
  of (sum: HeldSum): number {
    return this.#sums.get(heldSumName(sum))?.amount ?? 0
  }

  /** Yields the used amount of each sum. */
  sums (): Iterable<Holding> {
    return this.#sums.values()
  }

  /**
   * Removes recorded calls that ended before a time. Looks up each call at most once, in batches, and yields
   * to the event loop between batches. Stops at the first batch without a recorded call: the store is behind.
   *
   * @throws what `find` throws
   */
  async forgetRecorded (beforeMs: number, find: FindRecorded): Promise<void> {
    if (this.#isForgetting) return
    this.#isForgetting = true
    const due = this.#takeDue(beforeMs)
    let looked = 0
    try {
      for (let found = 1; looked < due.length && found > 0;) {
        if (looked > 0) await yieldFairly()
        const batch = due.slice(looked, looked + batchRows)
        found = this.#forget(batch, await find(batch.flatMap(({ row }) => row === undefined ? [] : [row])))
        looked += batch.length
      }
    } finally {
      // Unrecorded calls go last, so that they do not delay the others.
      this.#due = [...due.slice(looked), ...this.#due]
      this.#isForgetting = false
    }
  }

  #takeDue (beforeMs: number): readonly Spent[] {
    const later = this.#recent.findIndex(({ endedMs }) => endedMs >= beforeMs)
    const due = [...this.#due, ...this.#recent.splice(0, later === -1 ? Infinity : later)]
    this.#due = []
    return due
  }

  /** Removes the recorded calls of a batch. @returns their number */
  #forget (batch: readonly Spent[], recorded: ReadonlySet<string>): number {
    let forgotten = 0
    for (const spent of batch) {
      const { row, amount } = spent
      if (row !== undefined && !recorded.has(row.id)) {
        this.#due.push(spent)
        continue
      }
      this.#change({ ...spent, amount: -amount }, -1)
      forgotten++
    }
    return forgotten
  }

  #change ({ party, unit, fromMs, amount }: Holding, calls: number): void {
    const name = heldSumName({ party, unit, fromMs })
    const before = this.#sums.get(name)
    const after = {
      party,
      unit,
      fromMs,
      amount: (before?.amount ?? 0) + amount,
      calls: (before?.calls ?? 0) + calls
    }
    if (after.calls === 0) this.#sums.delete(name)
    else this.#sums.set(name, after)
  }
}
