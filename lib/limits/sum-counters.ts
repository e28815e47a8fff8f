/**
 * Counts used and reserved amounts of each sum, in memory:
 *
 *     left = max − used − reserved − elsewhere
 *
 * `max` is the limit. An amount is reserved while its call is open and used once it has ended. `elsewhere` is
 * what other processes hold, plus this one's unrecorded usage that `used` does not include. `docs/budgets.md`
 * has an example.
 */

import { PrunedMap } from '../async/pruned-map.ts'
import { dayMs } from '../core/day.ts'
import { addRefund, unrecordedRefunds, type Refunds } from '../usage/refunds.ts'
import type { SumRefusalReason } from './reservation.ts'
import { heldSumOf, type Holding, type SumKey } from './sum-keys.ts'

/** The state of a sum. */
interface Sum {
  readonly key: SumKey
  readonly used: number
  readonly reserved: number
  /** What other processes hold, and unrecorded usage. 0 without peers. */
  readonly elsewhere: number
  /** Absent until there is a refund. */
  readonly refunds: Refunds | undefined
  /** When it last changed. */
  readonly changedMs: number
}

/** Sums unused for this long may be removed, if they are read from the ledger again: their rows are there. */
export const idleSumMs = dayMs

/**
 * The sums of this process's limits. Those whose window has ended are removed; with a ledger, also those that
 * are unused for a day: a limit in total has no end.
 */
export class SumCounters {
  readonly #now: () => number
  readonly #sums: PrunedMap<Sum>

  /**
   * @param now returns Unix milliseconds
   * @param isReread true if sums are read from the ledger before they are used again
   */
  constructor (now: () => number, isReread = false) {
    this.#now = now
    this.#sums = new PrunedMap(({ key: { period }, reserved, changedMs }) => reserved === 0 && (
      now() >= period.endMs || (isReread && now() - changedMs >= idleSumMs)
    ))
  }

  /** Returns the number of sums. */
  get size (): number {
    return this.#sums.size
  }

  usedOf (key: SumKey): number {
    return this.#sumOf(key).used
  }

  /** Returns the amount reserved by open calls. */
  reservedOf (key: SumKey): number {
    return this.#sumOf(key).reserved
  }

  /** Returns the amount left; negative if more was used. */
  leftOf (key: SumKey, max: number): number {
    const { used, reserved, elsewhere } = this.#sumOf(key)
    return max - used - reserved - elsewhere
  }

  /** Returns why a call that needs `least` is refused; `undefined` if it is not. */
  refusalOf (key: SumKey, max: number, least: number): SumRefusalReason | undefined {
    const unused = max - this.usedOf(key)
    if (unused <= 0) return 'exhausted'
    if (least > unused) return 'too_small'
    return least > this.leftOf(key, max) ? 'reserved' : undefined
  }

  reserve (key: SumKey, amount: number): void {
    const sum = this.#sumOf(key)
    this.#change(sum, { reserved: sum.reserved + amount })
  }

  /** Replaces a reserved amount with the used one, which is negative for a refund. */
  settle (key: SumKey, reserved: number, used: number): void {
    const sum = this.#sumOf(key)
    this.#change(sum, {
      used: sum.used + used,
      reserved: sum.reserved - reserved,
      refunds: used < 0 ? addRefund(sum.refunds, -used, this.#now()) : sum.refunds
    })
  }

  /**
   * Sets the usage of a period from the ledger. Usage counted here may not be in the ledger yet, so the
   * higher count wins, except for recent refunds.
   *
   * @returns the usage that now counts
   */
  setUsed (key: SumKey, used: number): number {
    const sum = this.#sumOf(key)
    const refunded = sum.refunds === undefined ? 0 : unrecordedRefunds(sum.refunds, this.#now())
    const counted = Math.max(sum.used, used - refunded)
    this.#change(sum, { used: counted })
    return counted
  }

  /**
   * Sets what other gateways have reserved and this one has used but not recorded. Call it after `setUsed`
   * for the same period.
   */
  setElsewhere (key: SumKey, elsewhere: number): void {
    const sum = this.#sumOf(key)
    if (sum.elsewhere !== elsewhere) this.#change(sum, { elsewhere })
  }

  /** Yields the amounts of sums that open calls have reserved. */
  * holdings (): Generator<Holding, void, undefined> {
    for (const { key, reserved } of this.#sums.values()) {
      if (reserved > 0) yield { ...heldSumOf(key), amount: reserved }
    }
  }

  #change (sum: Sum, changes: Partial<Sum>): void {
    this.#sums.set(sum.key.name, { ...sum, ...changes, changedMs: this.#now() })
  }

  #sumOf (key: SumKey): Sum {
    return this.#sums.get(key.name) ?? {
      key, used: 0, reserved: 0, elsewhere: 0, refunds: undefined, changedMs: this.#now()
    }
  }
}
