/** Reads from the usage ledger what parties have spent, before a limiter decides on their calls. */

import { PrunedMap } from '../async/pruned-map.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { endUserPrefix } from '../stores/party-spending.ts'
import { counterName, type SumKey } from './sum-keys.ts'
import type { Account } from './call-accounts.ts'
import { endUserWaitMs } from './end-user-names.ts'
import {
  retryAfterMs,
  type LimitDecision,
  type RefusedDecision,
  type ReservationRequest
} from './reservation.ts'

/** Returns a party's usage in a period, from the ledger. */
export type ReadUsed = (sum: SumKey) => Promise<number>

export interface SpendingReaderOptions {
  /** Reads the usage ledger. Default: no ledger, all usage starts at zero. */
  readonly readUsed?: ReadUsed | undefined
  readonly onRead: (sum: SumKey, used: number) => void
  /** Called when the ledger cannot be read: sums then count only what is known. */
  readonly onFailure: (error: unknown) => void
  /** Called each time the ledger was read. */
  readonly onSuccess?: (() => void) | undefined
  /** Milliseconds for which a reading is used. */
  readonly rereadMs: number
}

function isOfEndUser ({ party }: SumKey): boolean {
  return party.startsWith(endUserPrefix)
}

interface Reading {
  readonly atMs: number
  /** True after the first successful reading. */
  isKnown: boolean
  pending: Promise<void> | undefined
}

/** Reads the usage of parties with sums: at their first call, and again while they are in use. */
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
   * Decides on a call once its sums have been read. Waits at most a quarter of a second for the spending of
   * its end user; `withoutStore` decides what happens after that.
   *
   * @param sums the sums of the call's accounts
   */
  afterReading (
    sums: readonly SumKey[],
    { accounts, withoutStore }: Pick<ReservationRequest, 'accounts' | 'withoutStore'>,
    decide: () => LimitDecision | Promise<LimitDecision>
  ): LimitDecision | Promise<LimitDecision> {
    const reading = this.#read(sums, withoutStore !== undefined)
    if (reading === undefined) return decide()
    return Promise.resolve(reading).then(async unread => {
      if (unread === undefined) return await decide()
      if (withoutStore === 'refuse') return unreadRefusal(accounts, unread)
      const decision = await decide()
      return decision.admitted ? { ...decision, isUnread: true } : decision
    })
  }

  /**
   * Reads unknown sums; calls that arrive during a reading share it.
   *
   * @param mayBeUnread true for a call that waits only briefly for its end user's sum
   * @returns the first sum that could not be read; `undefined` if all are known
   */
  #read (
    sums: readonly SumKey[],
    mayBeUnread: boolean
  ): SumKey | undefined | Promise<SumKey | undefined> {
    if (this.#options.readUsed === undefined) return undefined
    const unread = (): SumKey | undefined => sums.find(sum =>
      mayBeUnread && isOfEndUser(sum) && this.#readings.get(sum.name)?.isKnown !== true
    )
    const pending: Array<Promise<unknown>> = []
    for (const sum of sums) {
      const last = this.#readings.get(sum.name)
      const isRecent = last !== undefined && performance.now() - last.atMs < this.#options.rereadMs
      const reading = isRecent ? last.pending : this.#begin(sum)
      if (reading === undefined) continue
      pending.push(mayBeUnread && isOfEndUser(sum) ? withTimeout(endUserWaitMs, reading) : reading)
    }
    return pending.length === 0 ? unread() : Promise.all(pending).then(unread)
  }

  /** Reads a sum even if a reading is recent or in progress, which may lack the latest records. */
  async readAgain (sum: SumKey): Promise<void> {
    await this.#begin(sum)
  }

  #begin (sum: SumKey): Promise<void> | undefined {
    const isKnown = this.#readings.get(sum.name)?.isKnown === true
    const reading: Reading = { atMs: performance.now(), isKnown, pending: undefined }
    reading.pending = this.#load(sum).finally(() => { reading.pending = undefined })
    this.#readings.set(sum.name, reading)
    return reading.pending
  }

  async #load (sum: SumKey): Promise<void> {
    const { readUsed, onRead, onFailure, onSuccess } = this.#options
    try {
      if (readUsed === undefined) return
      onRead(sum, await readUsed(sum))
      onSuccess?.()
      // A later reading may have begun meanwhile.
      const latest = this.#readings.get(sum.name)
      if (latest !== undefined) latest.isKnown = true
    } catch (error) {
      onFailure(error)
    }
  }
}

/** Refuses a call because the usage of one of its sums could not be read. */
function unreadRefusal (accounts: readonly Account[], { party, unit }: SumKey): RefusedDecision {
  // Matches by party and unit: the window may have ended while waiting for the store.
  const accountIndex = accounts.findIndex(account => (
    account.counting === 'sum' && account.unit === unit && counterName(account.party) === party
  ))
  return {
    admitted: false, accountIndex, reason: 'budget_unread', waitMs: retryAfterMs, rateLimits: {}, used: []
  }
}
