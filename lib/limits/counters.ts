/**
 * Counts usage of all limited parties in memory: one instance in the process that decides, for the calls
 * of all workers.
 *
 * Before the provider request, a call reserves what it may use, in all its accounts or in none; it settles
 * its actual usage when it ends. Every method is synchronous, so reservations never interleave.
 */

import { countedLimits } from '../../schemas/config/counted-limits.ts'
import { RateCounters } from './rate-counters.ts'
import {
  amountToReserve,
  amountToTake,
  maxRequested,
  nothingReserved,
  requestedOfSum,
  sumRefusal,
  releasedChange,
  settledChange,
  type AccountRefusal,
  type Granted,
  type LimitDecision,
  type LimitsLeft,
  type RequestedAmounts,
  type ReservationRequest,
  type ActualUsage
} from './reservation.ts'
import { SumCounters } from './sum-counters.ts'
import { countersOf, sumsOf, type Counter, type SumKey } from './sum-keys.ts'

/** The amount of a reservation in one counter. */
type Part = Counter & { readonly amount: number }

interface Reservation {
  readonly parts: readonly Part[]
  /** The process that made the reservation. */
  readonly holder: string
  /** True once that process has exited; only amounts in sums are then left. */
  readonly hasExited: boolean
  /** The id of the usage row that the call will have. */
  readonly rowId: string | undefined
}

/** All counters and reservations of this process, or of the processes it decides for. */
export class LimitCounters {
  readonly sums: SumCounters
  readonly #rates: RateCounters
  readonly #now: () => number
  readonly #reservations = new Map<number, Reservation>()
  #last = 0

  /**
   * @param now returns Unix milliseconds
   * @param sumsAreReread true if sums are read from the ledger before they are used again
   */
  constructor (now: () => number, sumsAreReread = false) {
    this.#now = now
    this.sums = new SumCounters(now, sumsAreReread)
    this.#rates = new RateCounters(now)
  }

  /** Returns the number of counters. */
  get size (): number {
    return this.sums.size + this.#rates.size
  }

  /** Returns the number of open calls with a reservation. */
  get open (): number {
    return [...this.#reservations.values()].filter(({ hasExited }) => !hasExited).length
  }

  /** Reserves the most a call may use in all its accounts, or nothing. */
  reserve (
    { accounts, wanted, rowId, purpose = 'admit' }: ReservationRequest,
    holder = ''
  ): LimitDecision {
    const nowMs = this.#now()
    const counters = countersOf(accounts, nowMs)
    const refusal = purpose === 'admit' ? this.#refusalOf(counters, wanted, nowMs) : undefined
    const limitsLeft = (): LimitsLeft => ({
      rateLimits: this.#rates.statusesOf(accounts, nowMs),
      used: sumsOf(counters).map(sum => this.sums.usedOf(sum))
    })
    if (refusal !== undefined) return { admitted: false, ...refusal, ...limitsLeft() }
    if (purpose === 'describe') return { ...nothingReserved, ...limitsLeft() }
    const granted = this.#grantOf(counters, wanted)
    const parts = counters.map((counter): Part => {
      const amount = amountToReserve(counter.account, wanted, granted, purpose)
      if (counter.sum === undefined) this.#rates.add(counter.account, amount, nowMs)
      else this.sums.reserve(counter.sum, amount)
      return { ...counter, amount }
    })
    const reservation = ++this.#last
    this.#reservations.set(reservation, { parts, holder, hasExited: false, rowId })
    return { admitted: true, reservation, granted, ...limitsLeft() }
  }

  /**
   * Replaces a reservation with the actual usage; later calls for it do nothing.
   *
   * @returns the sums it counted in
   */
  settle (reservation: number, { used }: ActualUsage): SumKey[] {
    const reserved = this.#reservations.get(reservation)
    if (reserved === undefined) return []
    this.#reservations.delete(reservation)
    const nowMs = this.#now()
    for (const { account, sum, amount } of reserved.parts) {
      if (sum === undefined) this.#rates.add(account, settledChange(account, amount, used), nowMs)
      else this.sums.settle(sum, amount, used[sum.unit] ?? 0)
    }
    return sumsOf(reserved.parts)
  }

  /**
   * Releases the reservations of a process that exited. Amounts in sums stay until `releaseSums`, because its
   * calls may have used them.
   *
   * @returns the sums with amounts still reserved
   */
  release (holder: string): SumKey[] {
    const nowMs = this.#now()
    const sums = new Map<string, SumKey>()
    for (const [id, reservation] of this.#reservations) {
      if (reservation.holder !== holder || reservation.hasExited) continue
      const left: Part[] = []
      for (const part of reservation.parts) {
        const { account, sum, amount } = part
        if (sum === undefined) this.#rates.add(account, releasedChange(account, amount), nowMs)
        else if (amount > 0) {
          left.push(part)
          sums.set(sum.name, sum)
        }
      }
      if (left.length === 0) this.#reservations.delete(id)
      else this.#reservations.set(id, { ...reservation, parts: left, hasExited: true })
    }
    return [...sums.values()]
  }

  /** Releases the sums that `release` kept and no usage row has settled. */
  releaseSums (holder: string): void {
    for (const [id, { holder: by, hasExited }] of this.#reservations) {
      if (by === holder && hasExited) this.settle(id, { used: {} })
    }
  }

  /** Yields the reservations whose calls have one of these usage row ids, with the id. */
  *reservationsOf (
    rowIds: ReadonlySet<string>
  ): Generator<readonly [rowId: string, reservation: number], void, undefined> {
    for (const [reservation, { rowId }] of this.#reservations) {
      if (rowId !== undefined && rowIds.has(rowId)) yield [rowId, reservation]
    }
  }

  /**
   * Finds the account that refuses: sums first, because waiting does not help there, then concurrency, then
   * the slowest to refill.
   */
  #refusalOf (
    counters: readonly Counter[], wanted: RequestedAmounts, nowMs: number
  ): AccountRefusal | undefined {
    let tooManyOpen: AccountRefusal | undefined
    let longest: AccountRefusal | undefined
    for (const [index, counter] of counters.entries()) {
      const found = this.#refuses(counter, wanted, nowMs)
      if (found === undefined) continue
      const refusal = { accountIndex: index, ...found }
      switch (counter.account.counting) {
        case 'sum': return refusal
        case 'open': tooManyOpen ??= refusal; break
        case 'rate': if (longest === undefined || found.waitMs > longest.waitMs) longest = refusal; break
        default: counter.account satisfies never
      }
    }
    return tooManyOpen ?? longest
  }

  #refuses (
    { account, sum }: Counter, wanted: RequestedAmounts, nowMs: number
  ): Omit<AccountRefusal, 'accountIndex'> | undefined {
    if (sum === undefined) {
      const waitMs = this.#rates.waitMs(account, amountToTake(account, wanted), nowMs)
      return waitMs === 0 ? undefined : { reason: countedLimits[account.limitName].refusal, waitMs }
    }
    const refused = this.sums.refusalOf(sum, account.max, requestedOfSum(account, wanted).min)
    return refused && sumRefusal(account.name, refused, sum.period)
  }

  /**
   * Returns the amount to reserve of each unit: the wanted amount or, if the call accepts less, what its sums
   * have left.
   */
  #grantOf (counters: readonly Counter[], wanted: RequestedAmounts): Granted {
    const granted = maxRequested(wanted)
    for (const { account, sum } of counters) {
      if (sum === undefined || !account.strict) continue
      const left = this.sums.leftOf(sum, account.max)
      granted[account.unit] = Math.max(
        requestedOfSum(account, wanted).min,
        Math.min(granted[account.unit] ?? 0, left)
      )
    }
    return granted
  }
}
