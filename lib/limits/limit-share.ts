/**
 * Decides on calls of limited parties while the processes of all machines cannot coordinate: each process
 * alone, within its share of each limit.
 *
 * What is left of a sum, such as a budget, is divided when a party first calls. Until coordination is back,
 * each process uses only its own share and needs to know nothing about the others.
 */

import { LimitCounters } from './counters.ts'
import type { LimitDecision, ReservationRequest, ActualUsage } from './reservation.ts'
import { countersOf, sumsOf, type SumKey } from './sum-keys.ts'
import type { Account } from './call-accounts.ts'
import { SpendingReader, type SpendingReaderOptions } from './spending-reader.ts'

export interface LimitShareOptions
  extends Pick<SpendingReaderOptions, 'readUsed' | 'onFailure' | 'onSuccess'> {
  /** Returns Unix milliseconds. */
  readonly now: () => number
  readonly processes: number
  /** Returns the known usage of a sum, and what open calls of this process have reserved of it. */
  readonly usageOf: (sum: SumKey) => { readonly used: number, readonly reserved: number }
}

export class LimitShare {
  readonly #options: LimitShareOptions
  readonly #counters: LimitCounters
  readonly #reader: SpendingReader
  /** Sums that have been divided. */
  readonly #divided = new Set<string>()

  constructor (options: LimitShareOptions) {
    this.#options = options
    this.#counters = new LimitCounters(options.now)
    this.#reader = new SpendingReader({
      ...options,
      rereadMs: Infinity,
      onRead: (sum, used) => {
        this.#counters.sums.setUsed(sum, used)
      }
    })
  }

  async reserve (request: ReservationRequest): Promise<LimitDecision> {
    const { accounts } = request
    const counters = countersOf(accounts, this.#options.now())
    return await this.#reader.afterReading(sumsOf(counters), request, () => {
      for (const { account, sum } of counters) {
        if (sum !== undefined) this.#divide(sum, account.max)
      }
      return this.#counters.reserve({ ...request, accounts: accounts.map(account => this.#shareOf(account)) })
    })
  }

  settle (reservation: number, used: ActualUsage): void {
    this.#counters.settle(reservation, used)
  }

  #divide (sum: SumKey, limit: number): void {
    if (this.#divided.has(sum.name)) return
    this.#divided.add(sum.name)
    const { processes, usageOf } = this.#options
    const { used, reserved } = usageOf(sum)
    const left = Math.max(0, limit - this.#counters.sums.setUsed(sum, used))
    this.#counters.sums.setElsewhere(sum, left - Math.floor(left / processes) + reserved)
  }

  /** Returns this process's share of a limit, at least 1. For a sum, what is left of it is divided. */
  #shareOf (account: Account): Account {
    return account.counting === 'sum'
      ? account
      : { ...account, max: Math.max(1, Math.floor(account.max / this.#options.processes)) }
  }
}
