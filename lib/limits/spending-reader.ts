import { PrunedMap } from '../async/pruned-map.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { endUserPrefix } from '../stores/party-spending.ts'
import { partyKey, type Account } from './call-accounts.ts'
import { retryAfterMs } from './reservation-rules.ts'
import type { LimitDecision, RefusedDecision, ReservationRequest } from './reservation.ts'
import type { SumKey } from './sum-key.ts'

/** Returns what a party used in a period, as the usage ledger has it. */
export type ReadUsed = (sum: SumKey) => Promise<number>

export interface SpendingReaderOptions {
  /** Reads the usage ledger. Default: no ledger, nothing was used before. */
  readonly readUsed?: ReadUsed | undefined
  /** Called with each reading. */
  readonly onRead: (sum: SumKey, used: number) => void
  /** Called when the ledger cannot be read: sums then count what is known. */
  readonly onFailure: (error: unknown) => void
  /** The time for which a reading is used. */
  readonly rereadMs: number
}

/** Longest wait for what an end user has spent: callers choose these names, and may choose new ones. */
export const endUserWaitMs = 250

function isOfEndUser ({ party }: SumKey): boolean {
  return party.startsWith(endUserPrefix)
}

interface Reading {
  readonly atMs: number
  /** True once a reading of the sum has succeeded. */
  isKnown: boolean
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
   * Decides on a call once the sums that it counts in are read. Waits a quarter of a second at most for what
   * its end user has spent: `withoutStore` says what happens then.
   *
   * @param sums those of the accounts of the call
   */
  onceRead (
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
   * Reads the sums that are not known; calls that arrive meanwhile share one reading.
   *
   * @param mayBeUnread true for a call that does not wait long for the sum of its end user
   * @returns the first of these sums of which no reading has succeeded; `undefined` where all are known
   */
  #read (
    sums: readonly SumKey[],
    mayBeUnread: boolean
  ): SumKey | undefined | Promise<SumKey | undefined> {
    if (this.#options.readUsed === undefined) return undefined
    const unread = (): SumKey | undefined => mayBeUnread ? this.#unread(sums) : undefined
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

  #unread (sums: readonly SumKey[]): SumKey | undefined {
    return sums.find(sum => isOfEndUser(sum) && this.#readings.get(sum.name)?.isKnown !== true)
  }

  /** Reads a sum in any case: what was recorded just now may not be in the last reading. */
  async readAgain (sum: SumKey): Promise<void> {
    await this.#begin(sum)
  }

  #begin (sum: SumKey): Promise<void> | undefined {
    const isKnown = this.#readings.get(sum.name)?.isKnown === true
    const reading: Reading = { atMs: performance.now(), isKnown, pending: undefined }
    reading.pending = this.#load(sum, reading).finally(() => { reading.pending = undefined })
    this.#readings.set(sum.name, reading)
    return reading.pending
  }

  async #load (sum: SumKey, reading: Reading): Promise<void> {
    const { readUsed, onRead, onFailure } = this.#options
    try {
      if (readUsed === undefined) return
      onRead(sum, await readUsed(sum))
      reading.isKnown = true
    } catch (error) {
      onFailure(error)
    }
  }
}

/** Refuses a call as the store has not said what was used of one of its sums. */
function unreadRefusal (accounts: readonly Account[], { party, unit }: SumKey): RefusedDecision {
  // By what no clock changes: its window may have ended during the wait for the store.
  const accountIndex = accounts.findIndex(account => (
    account.counting === 'sum' && account.unit === unit && partyKey(account) === party
  ))
  return {
    admitted: false, accountIndex, reason: 'budget_unread', waitMs: retryAfterMs, rateLimits: {}, used: []
  }
}
