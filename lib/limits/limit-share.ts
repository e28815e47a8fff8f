/**
 * Decides on calls of limited keys while the processes of all machines cannot count together: each by itself, within its
 * share of each limit.
 *
 * Divides what is left of a budget when a key calls for the first time; until the processes count together again, each
 * spends its part and no other counts there. So none has to know what the others spend meanwhile.
 */

import { nanoUsdOf, type KeyLimits } from '../core/key.ts'
import { LimitCounters, type ActualUsage, type LimitDecision, type ReservationRequest } from './counters.ts'
import { SpendingReader, type SpendingReaderOptions } from './spending-reader.ts'
import type { Period } from './budget.ts'

export interface LimitShareOptions extends Pick<SpendingReaderOptions, 'readSpending' | 'onFailure' | 'now'> {
  /** The number of processes. */
  readonly processes: number
  /** Returns what is known to be spent of a budget, and what the open calls of this process hold of it. */
  readonly known: (keyId: string, period: Period) => { readonly spent: number, readonly reserved: number }
}

export class LimitShare {
  readonly #options: LimitShareOptions
  readonly #counters: LimitCounters
  readonly #reader: SpendingReader
  /** The part of each budget that others may spend, by key and period. */
  readonly #ofOthers = new Map<string, number>()

  constructor (options: LimitShareOptions) {
    this.#options = options
    this.#counters = new LimitCounters(options.now)
    this.#reader = new SpendingReader({
      ...options, rereadMs: Infinity, onRead: (keyId, period, spent) => { this.#counters.setSpent(keyId, period, spent) }
    })
  }

  async reserve (wanted: ReservationRequest): Promise<LimitDecision> {
    const { keyId, limits } = wanted
    const period = this.#counters.periodFor(wanted)
    await this.#reader.read(keyId, period)
    if (period !== undefined) this.#divide(keyId, limits, period)
    return this.#counters.reserve({ ...wanted, limits: this.#shareOf(limits) })
  }

  settle (reservation: number, used: ActualUsage): void {
    this.#counters.settle(reservation, used)
  }

  #divide (keyId: string, { budget }: KeyLimits, period: Period): void {
    const name = `${keyId} ${period.per} ${period.fromMs}`
    if (budget === undefined || this.#ofOthers.has(name)) return
    const { processes, known } = this.#options
    const { spent, reserved } = known(keyId, period)
    const left = Math.max(0, nanoUsdOf(budget) - this.#counters.setSpent(keyId, period, spent))
    const ofOthers = left - Math.floor(left / processes) + reserved
    this.#ofOthers.set(name, ofOthers)
    this.#counters.setElsewhere(keyId, period, ofOthers)
  }

  /** Returns limits of which each process has a part, at least 1; budgets are divided by what is left of them. */
  #shareOf (limits: KeyLimits): KeyLimits {
    const part = (limit: number): number => Math.max(1, Math.floor(limit / this.#options.processes))
    const { requestsPerMinute, tokensPerMinute, concurrentCalls } = limits
    return {
      ...limits,
      ...requestsPerMinute !== undefined && { requestsPerMinute: part(requestsPerMinute) },
      ...tokensPerMinute !== undefined && { tokensPerMinute: part(tokensPerMinute) },
      ...concurrentCalls !== undefined && { concurrentCalls: part(concurrentCalls) }
    }
  }
}
