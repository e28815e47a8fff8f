/**
 * Counts what is used and reserved of each sum, in memory:
 *
 *     left = amount − used − reserved − elsewhere
 *
 * An amount is reserved while its call is open, and used once it has ended; what other processes have used or
 * reserved is elsewhere until the ledger has it. `docs/budgets.md` has an example.
 */

import { PrunedMap } from '../async/pruned-map.ts'
import { addRefund, unrecordedRefunds, type Refunds } from '../usage/refunds.ts'
import type { SumRefusalReason } from './reservation-rules.ts'
import { heldSumOf, type Holding, type SumKey } from './sum-key.ts'

/** What is known of a sum. */
interface Sum {
  readonly key: SumKey
  readonly used: number
  readonly reserved: number
  /**
   * Used or reserved by other gateways on the store, and used but not recorded yet by this one; 0 while it is
   * alone.
   */
  readonly elsewhere: number
  /** Absent while nothing was given back. */
  readonly refunds: Refunds | undefined
}

export class SumCounters {
  readonly #now: () => number
  readonly #sums = new PrunedMap<Sum>(({ key: { period }, reserved }) => (
    reserved === 0 && this.#now() >= period.endMs
  ))

  /** @param now milliseconds of Unix time */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Returns the number of sums that are kept. */
  get size (): number {
    return this.#sums.size
  }

  usedOf (key: SumKey): number {
    return this.#sumOf(key).used
  }

  /** Returns what open calls hold of a sum. */
  reservedOf (key: SumKey): number {
    return this.#sumOf(key).reserved
  }

  /** Returns what is left of an amount; below 0 where more is used. */
  leftOf (key: SumKey, amount: number): number {
    const { used, reserved, elsewhere } = this.#sumOf(key)
    return amount - used - reserved - elsewhere
  }

  /** Returns why a call is refused that needs `least` of an amount; `undefined` where it is not. */
  refusalOf (key: SumKey, amount: number, least: number): SumRefusalReason | undefined {
    const unused = amount - this.usedOf(key)
    if (unused <= 0) return 'exhausted'
    if (least > unused) return 'too_small'
    return least > this.leftOf(key, amount) ? 'reserved' : undefined
  }

  reserve (key: SumKey, amount: number): void {
    const sum = this.#sumOf(key)
    this.#sums.set(key.name, { ...sum, reserved: sum.reserved + amount })
  }

  /** Replaces what a call has reserved with what it used, which is below 0 for a refund. */
  settle (key: SumKey, reserved: number, used: number): void {
    const sum = this.#sumOf(key)
    this.#sums.set(key.name, {
      ...sum,
      used: sum.used + used,
      reserved: sum.reserved - reserved,
      refunds: used < 0 ? addRefund(sum.refunds, -used, this.#now()) : sum.refunds
    })
  }

  /**
   * Sets what all processes have used in a period, as the ledger has it. What was counted here and is
   * not in the ledger yet must not get lost: the higher of both counts, but for recent refunds.
   *
   * @returns what counts now
   */
  setUsed (key: SumKey, used: number): number {
    const sum = this.#sumOf(key)
    const refunded = sum.refunds === undefined ? 0 : unrecordedRefunds(sum.refunds, this.#now())
    const counted = Math.max(sum.used, used - refunded)
    this.#sums.set(key.name, { ...sum, used: counted })
    return counted
  }

  /**
   * Sets how much of a sum other gateways hold, or this one has used and not recorded, after `setUsed` of the
   * same period.
   */
  setElsewhere (key: SumKey, elsewhere: number): void {
    const sum = this.#sumOf(key)
    if (sum.elsewhere !== elsewhere) this.#sums.set(key.name, { ...sum, elsewhere })
  }

  /** Lists what open calls hold of sums. */
  * holdings (): Generator<Holding, void, undefined> {
    for (const { key, reserved } of this.#sums.values()) {
      if (reserved > 0) yield { ...heldSumOf(key), amount: reserved }
    }
  }

  #sumOf (key: SumKey): Sum {
    return this.#sums.get(key.name) ?? { key, used: 0, reserved: 0, elsewhere: 0, refunds: undefined }
  }
}
