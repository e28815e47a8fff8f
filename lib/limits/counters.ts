/**
 * Counts what every limited party has used, in memory: one instance for all calls of a machine.
 *
 * A call reserves everything it may use before the provider request, in all its accounts or in none, and
 * settles its actual usage when it has ended. Nothing here awaits, so nothing interleaves.
 *
 * Of each sum: left = amount − used − reserved − elsewhere; `docs/budgets.md` calls these recorded, reserved
 * here and reserved elsewhere. An amount is reserved while its call is open, and used once it has ended; what
 * other processes have used or reserved is elsewhere until the ledger has it.
 */

import { fullBucket, fullInMs, remaining, take, waitMs, type Bucket } from './bucket.ts'
import {
  partyName,
  sumAccountsOf,
  type Account,
  type RateOrOpenAccount,
  type SumAccount,
  type Unit
} from './call-accounts.ts'
import { isPerCall } from './limit-table.ts'
import { addRefund, unrecordedRefunds, type Refunds } from '../usage/refunds.ts'
import { periodOf, type Period } from './windows.ts'
import { countedLimits } from '../../schemas/config/counted-limits.ts'
import { PrunedMap } from '../async/pruned-map.ts'
import type { Refusal } from '../core/key.ts'

/** An amount of a unit that a call may use. */
export interface Wanted {
  /** The most. */
  readonly most: number
  /** The least that is worth reserving of a sum where less than the most is left. Default: all or nothing. */
  readonly least?: number | undefined
  /** The amount that sums reserve which are not strict. Default: the most. */
  readonly usual?: number
}

export interface ReservationRequest {
  readonly accounts: readonly Account[]
  /**
   * What it may use of each unit; absent means nothing. A call is one request and one open call in any case.
   */
  readonly wanted: Readonly<Partial<Record<Unit, Wanted>>>
  /**
   * The id of the usage record that the call will have: it settles the reservation of a process that was
   * killed.
   */
  readonly rowId?: string
  /**
   * True for a call that was admitted earlier and only counts now: no limit refuses it, and it is neither a
   * request nor an open call.
   */
  readonly alreadyAdmitted?: boolean
  /**
   * Of a call that counts in parties which it names: says what happens where the store does not say in time
   * what its end user has spent. Absent: it has none, and waits for the store.
   */
  readonly withoutStore?: 'allow' | 'refuse'
  /** True to describe the limits and to reserve nothing: there is nothing to settle. */
  readonly onlyLook?: boolean
}

/** Finds a usage record in the store. */
export interface UsageRowKey {
  readonly id: string
  readonly atMs: number
}

/** The actual usage of a call. */
export interface ActualUsage {
  /** Of each unit, requests beyond the one that was reserved; absent means nothing. */
  readonly used: Readonly<Partial<Record<Unit, number>>>
  /** The usage record of the call, which is stored soon. */
  readonly row?: UsageRowKey
}

/** What the usage record of a call says that it used, with the accounts that the call counted in. */
export interface RecordedUsage extends ActualUsage {
  readonly accounts: readonly Account[]
  readonly row: UsageRowKey
}

/** Cancels a reservation, and gives back its request. */
export const undoReservation: ActualUsage = { used: { requests: -1 } }

/** Describes how much of a limit per minute is left, in its unit. */
export interface RateLimitStatus {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the limit is completely available. */
  readonly resetMs: number
}

/** The limits per minute that hold for a call: of parties that have the same one, the first's. */
export type RateLimits = Readonly<Partial<Record<Unit, RateLimitStatus>>>

/** The amounts that were reserved of each unit, at most as much as any account has left. */
export type Granted = Readonly<Partial<Record<Unit, number>>>

/** Says which account refuses, and why. */
export interface AccountRefusal {
  /** The place of the account in the list of the call. */
  readonly accountIndex: number
  readonly reason: Refusal
  /** Milliseconds after which to try again; 0 where waiting does not help. */
  readonly waitMs: number
  /** The end of the window of a sum, in Unix milliseconds. */
  readonly endMs?: number
}

/** The limits of a call as a decision on it leaves them. */
interface LimitsLeft {
  readonly rateLimits: RateLimits
  /** What was used of each of the sums (`sumAccountsOf`), in their order; empty where that is not known. */
  readonly used: readonly number[]
}

export interface AdmittedDecision extends LimitsLeft {
  readonly admitted: true
  /** Names the reservation for its settlement. */
  readonly reservation: number
  readonly granted: Granted
  /** True where the store has not said what was used of a sum. */
  readonly isUnread?: boolean
}

export interface RefusedDecision extends LimitsLeft, AccountRefusal {
  readonly admitted: false
}

export type LimitDecision = AdmittedDecision | RefusedDecision

/** What is known of a sum. */
interface Sum extends Omit<SumKey, 'name'> {
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

/** The sum of one party, unit and period. */
export interface SumKey {
  /** Unique among all sums. */
  readonly name: string
  readonly party: string
  readonly unit: Unit
  readonly period: Period
}

/** An amount that a process has reserved, or used and not recorded yet. */
export interface Holding extends Pick<SumKey, 'party' | 'unit'> {
  /** The first millisecond of its period. */
  readonly fromMs: number
  readonly amount: number
}

interface SumCounter {
  readonly account: SumAccount
  readonly sum: SumKey
}

interface RateOrOpenCounter {
  readonly account: RateOrOpenAccount
  readonly name: string
  readonly sum?: undefined
}

/** The counter of an account at the moment of a call: named once, as a call reads it several times. */
type Counter = SumCounter | RateOrOpenCounter

/** The part of a reservation that counts in one account. */
interface Part {
  readonly counter: Counter
  readonly amount: number
}

interface Reservation {
  readonly parts: readonly Part[]
  /** The process that made it. */
  readonly holder: string
  /** Of the usage record that its call will have. */
  readonly rowId: string | undefined
}

interface Rate {
  readonly bucket: Bucket
  /** Of the latest call. */
  readonly limit: number
}

/** Suggested retry when open calls hold the rest of a limit. */
export const retryAfterMs = 1000

export class LimitCounters {
  readonly #now: () => number
  readonly #rates = new PrunedMap<Rate>(({ bucket, limit }) => fullInMs(bucket, limit, this.#now()) === 0)
  readonly #open = new Map<string, number>()
  readonly #sums = new PrunedMap<Sum>(({ period, reserved }) => reserved === 0 && this.#now() >= period.endMs)
  readonly #reservations = new Map<number, Reservation>()
  /** What is left reserved of sums for processes that have exited. */
  readonly #leftover = new Map<number, Reservation>()
  #last = 0

  /** @param now milliseconds of Unix time */
  constructor (now: () => number) {
    this.#now = now
  }

  /** Returns the number of counters that are kept. */
  get size (): number {
    return this.#rates.size + this.#open.size + this.#sums.size
  }

  /** Returns the number of unsettled reservations. */
  get open (): number {
    return this.#reservations.size
  }

  /**
   * Sets what all processes have used in a period, as the ledger has it. What was counted here and is
   * not in the ledger yet must not get lost: the higher of both counts, but for recent refunds.
   *
   * @returns what counts now
   */
  setUsed (key: SumKey, used: number): number {
    const sum = this.#stateOf(key)
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
    const sum = this.#stateOf(key)
    if (sum.elsewhere !== elsewhere) this.#sums.set(key.name, { ...sum, elsewhere })
  }

  /** Returns what open calls hold of a sum. */
  reservedOf (key: SumKey): number {
    return this.#stateOf(key).reserved
  }

  /** Lists what open calls hold of sums. */
  * holdings (): Generator<Holding, void, undefined> {
    for (const [, { party, unit, period: { fromMs }, reserved }] of this.#sums) {
      if (reserved > 0) yield { party, unit, fromMs, amount: reserved }
    }
  }

  /** Reserves everything a call may use in all its accounts, or nothing. */
  reserve (
    { accounts, wanted, rowId, alreadyAdmitted = false, onlyLook = false }: ReservationRequest,
    holder = ''
  ): LimitDecision {
    const nowMs = this.#now()
    const counters = accounts.map(account => counterOf(account, nowMs))
    const refusal = alreadyAdmitted || onlyLook ? undefined : this.#refusalOf(counters, wanted, nowMs)
    const used: number[] = []
    for (const { sum } of counters) if (sum !== undefined) used.push(this.#stateOf(sum).used)
    if (refusal !== undefined) {
      return { admitted: false, ...refusal, used, rateLimits: this.#statusesOf(counters, nowMs) }
    }
    if (onlyLook) return looked(used, this.#statusesOf(counters, nowMs))
    const granted = this.#grantOf(counters, wanted)
    const parts = counters.map((counter): Part => {
      const amount = amountToReserve(counter.account, wanted, granted, alreadyAdmitted)
      if (counter.sum === undefined) this.#addToRateOrOpen(counter, amount, nowMs)
      else this.#addReserved(counter.sum, amount)
      return { counter, amount }
    })
    const reservation = ++this.#last
    this.#reservations.set(reservation, { parts, holder, rowId })
    return { admitted: true, reservation, granted, used, rateLimits: this.#statusesOf(counters, nowMs) }
  }

  /**
   * Replaces a reservation with the actual usage; further calls do nothing.
   *
   * @returns the sums that it counted in
   */
  settle (reservation: number, { used }: ActualUsage): SumKey[] {
    const reserved = this.#reservations.get(reservation) ?? this.#leftover.get(reservation)
    if (reserved === undefined) return []
    this.#reservations.delete(reservation)
    this.#leftover.delete(reservation)
    const nowMs = this.#now()
    for (const { counter, amount } of reserved.parts) {
      if (counter.sum === undefined) {
        this.#addToRateOrOpen(counter, settledChange(counter.account, amount, used), nowMs)
        continue
      }
      this.#addUsed(counter.sum, used[counter.sum.unit] ?? 0, nowMs)
      this.#addReserved(counter.sum, -amount)
    }
    return sumsOf(reserved.parts)
  }

  /**
   * Releases the reservations of a process that exited. Their parts of sums stay until `releaseSums`: its
   * calls may have used as much.
   *
   * @returns the sums that it has left parts of
   */
  release (holder: string): SumKey[] {
    const nowMs = this.#now()
    const sums = new Map<string, SumKey>()
    for (const [id, { parts, ...reservation }] of this.#reservations) {
      if (reservation.holder !== holder) continue
      this.#reservations.delete(id)
      for (const { counter, amount } of parts) {
        if (counter.sum !== undefined) continue
        this.#addToRateOrOpen(counter, releasedChange(counter.account, amount), nowMs)
      }
      const left = parts.filter(({ counter: { sum }, amount }) => sum !== undefined && amount > 0)
      if (left.length > 0) this.#leftover.set(id, { ...reservation, parts: left })
      for (const sum of sumsOf(left)) sums.set(sum.name, sum)
    }
    return [...sums.values()]
  }

  /** Releases what `release` has left reserved and no usage record has settled. */
  releaseSums (holder: string): void {
    for (const [id, { holder: by }] of this.#leftover) if (by === holder) this.settle(id, { used: {} })
  }

  /** Lists the reservations whose calls will have one of these usage records, with its id. */
  *withRecords (
    rowIds: ReadonlySet<string>
  ): Generator<readonly [rowId: string, reservation: number], void, undefined> {
    for (const reservations of [this.#reservations, this.#leftover]) {
      for (const [reservation, { rowId }] of reservations) {
        if (rowId !== undefined && rowIds.has(rowId)) yield [rowId, reservation]
      }
    }
  }

  /**
   * Finds the account that refuses: sums first, as waiting does not help there, then places, then what takes
   * longest to refill.
   */
  #refusalOf (
    counters: readonly Counter[], wanted: ReservationRequest['wanted'], nowMs: number
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
    counter: Counter, wanted: ReservationRequest['wanted'], nowMs: number
  ): Omit<AccountRefusal, 'accountIndex'> | undefined {
    if (counter.sum !== undefined) {
      const { account, sum } = counter
      const { used, reserved, elsewhere } = this.#stateOf(sum)
      const left = account.amount - used
      const refused = whySumRefuses(left, boundsOf(account, wanted).least, left - reserved - elsewhere)
      if (refused === undefined) return undefined
      return { ...nameRefusal(account.name, refused), endMs: sum.period.endMs }
    }
    const { account, name } = counter
    const { counting, amount, limit } = account
    const reason = countedLimits[limit].refusal
    switch (counting) {
      case 'open': return (this.#open.get(name) ?? 0) < amount ? undefined : { reason, waitMs: retryAfterMs }
      case 'rate': {
        const wait = waitMs(this.#bucketOf(name), amount, amountToTake(account, wanted), nowMs)
        return wait === 0 ? undefined : { reason, waitMs: wait }
      }
    }
    return counting satisfies never
  }

  /**
   * Returns the amount to reserve of each unit: the wanted amount, or, if the call accepts less, what is left
   * in its sums.
   */
  #grantOf (counters: readonly Counter[], wanted: ReservationRequest['wanted']): Granted {
    const granted = mostWanted(wanted)
    for (const { account, sum } of counters) {
      if (sum === undefined || !account.strict) continue
      const { used, reserved, elsewhere } = this.#stateOf(sum)
      const { least } = boundsOf(account, wanted)
      const left = account.amount - used - reserved - elsewhere
      granted[account.unit] = Math.max(least, Math.min(granted[account.unit] ?? 0, left))
    }
    return granted
  }

  #stateOf ({ name, party, unit, period }: SumKey): Sum {
    return this.#sums.get(name) ?? {
      party, unit, period, used: 0, reserved: 0, elsewhere: 0, refunds: undefined
    }
  }

  #bucketOf (name: string): Bucket {
    return this.#rates.get(name)?.bucket ?? fullBucket
  }

  #addReserved (key: SumKey, amount: number): void {
    const sum = this.#stateOf(key)
    this.#sums.set(key.name, { ...sum, reserved: sum.reserved + amount })
  }

  /** @param amount below 0 for a refund */
  #addUsed (key: SumKey, amount: number, nowMs: number): void {
    const sum = this.#stateOf(key)
    const refunds = amount < 0 ? addRefund(sum.refunds, -amount, nowMs) : sum.refunds
    this.#sums.set(key.name, { ...sum, used: sum.used + amount, refunds })
  }

  /** @param amount below 0 to give back */
  #addToRateOrOpen (
    { account: { counting, amount: limit }, name }: RateOrOpenCounter, amount: number, nowMs: number
  ): void {
    switch (counting) {
      case 'rate':
        this.#rates.set(name, { bucket: take(this.#bucketOf(name), limit, amount, nowMs), limit })
        return
      case 'open': {
        const open = (this.#open.get(name) ?? 0) + amount
        if (open === 0) this.#open.delete(name)
        else this.#open.set(name, open)
        return
      }
    }
    counting satisfies never
  }

  #statusesOf (counters: readonly Counter[], nowMs: number): RateLimits {
    const statuses: Partial<Record<Unit, RateLimitStatus>> = {}
    for (const counter of counters) {
      if (counter.sum !== undefined) continue
      const { account: { counting, unit, amount: limit }, name } = counter
      if (counting !== 'rate' || statuses[unit] !== undefined) continue
      const bucket = this.#bucketOf(name)
      statuses[unit] = {
        limit, remaining: remaining(bucket, limit, nowMs), resetMs: fullInMs(bucket, limit, nowMs)
      }
    }
    return statuses
  }
}

/** Why a sum refuses a call: for its window, or only while other calls are open (`reserved`). */
export type SumRefusalReason = 'exhausted' | 'too_small' | 'reserved'

function whySumRefuses (left: number, least: number, leftBesideOpen: number): SumRefusalReason | undefined {
  if (left <= 0) return 'exhausted'
  if (least > left) return 'too_small'
  return least > leftBesideOpen ? 'reserved' : undefined
}

/** Names the refusal of a sum, and when to try again. */
export function nameRefusal (
  name: SumAccount['name'],
  why: SumRefusalReason
): Pick<AccountRefusal, 'reason' | 'waitMs'> {
  return why === 'exhausted'
    ? { reason: name, waitMs: 0 }
    : { reason: `${name}_${why}`, waitMs: why === 'reserved' ? retryAfterMs : 0 }
}

/** Describes limits of which nothing was reserved. */
export function looked (used: readonly number[], rateLimits: RateLimits): AdmittedDecision {
  return { admitted: true, reservation: 0, granted: {}, used, rateLimits }
}

/** Refuses a call as the store has not said what was used of one of its sums. */
export function unreadRefusal (accounts: readonly Account[], { party, unit }: SumKey): RefusedDecision {
  // By what no clock changes: its window may have ended during the wait for the store.
  const accountIndex = accounts.findIndex(account => (
    account.counting === 'sum' && account.unit === unit && partyName(account) === party
  ))
  return {
    admitted: false, accountIndex, reason: 'budget_unread', waitMs: retryAfterMs, rateLimits: {}, used: []
  }
}

/** Says of a decision that the store has not said what was used of a sum. */
export function asUnread (decision: LimitDecision): LimitDecision {
  return decision.admitted ? { ...decision, isUnread: true } : decision
}

/** Returns the most that is wanted of each unit. */
export function mostWanted (wanted: ReservationRequest['wanted']): Partial<Record<Unit, number>> {
  const amounts: Partial<Record<Unit, number>> = {}
  for (const [unit, { most }] of Object.entries(wanted)) amounts[unit as Unit] = most // its keys are units
  return amounts
}

/** Returns the most and the least that a call reserves of a sum. */
export function boundsOf (
  { unit, strict }: SumAccount,
  wanted: ReservationRequest['wanted']
): { readonly most: number, readonly least: number } {
  const { most = 0, least = most, usual = most } = wanted[unit] ?? {}
  return strict ? { most, least } : { most: usual, least: usual }
}

/** Returns what a reservation takes of an account. */
export function amountToReserve (
  account: Account,
  wanted: ReservationRequest['wanted'],
  granted: Granted,
  alreadyAdmitted: boolean
): number {
  if (account.counting === 'sum') {
    return account.strict ? granted[account.unit] ?? 0 : boundsOf(account, wanted).most
  }
  return alreadyAdmitted && isPerCall(account.unit) ? 0 : amountToTake(account, wanted)
}

/** Returns what a call takes of a rate or of open calls; at most a minute's amount, which a full bucket has. */
function amountToTake ({ unit, amount }: RateOrOpenAccount, wanted: ReservationRequest['wanted']): number {
  return isPerCall(unit) ? 1 : Math.min(wanted[unit]?.most ?? 0, amount)
}

/** Returns what a settlement adds to a rate, or to the open calls. */
export function settledChange (
  { counting, unit }: Account,
  reserved: number,
  used: ActualUsage['used']
): number {
  if (counting === 'open') return -reserved
  return isPerCall(unit) ? used[unit] ?? 0 : (used[unit] ?? 0) - reserved
}

/** Returns what is given back of a call whose process exited: that it was a request stays. */
function releasedChange ({ counting, unit }: RateOrOpenAccount, reserved: number): number {
  return counting === 'rate' && isPerCall(unit) ? 0 : -reserved
}

/** Returns the sum of a party, a unit and a period. The party, which may be any text, ends its name. */
export function sumKey (party: string, unit: Unit, period: Period): SumKey {
  return { name: `${unit} ${period.name} ${period.fromMs} ${party}`, party, unit, period }
}

/** Lists the sums that a call counts in at a moment, in Unix milliseconds. */
export function sumKeysOf (accounts: readonly Account[], nowMs: number): SumKey[] {
  return sumAccountsOf(accounts).map(account => accountSumKey(account, nowMs))
}

function accountSumKey (account: SumAccount, nowMs: number): SumKey {
  return sumKey(partyName(account), account.unit, periodOf(account.window, nowMs))
}

function counterOf (account: Account, nowMs: number): Counter {
  switch (account.counting) {
    case 'sum': return { account, sum: accountSumKey(account, nowMs) }
    case 'open': return { account, name: partyName(account) }
    case 'rate': return { account, name: `${account.unit} ${partyName(account)}` }
  }
  return account satisfies never
}

function sumsOf (parts: readonly Part[]): SumKey[] {
  return parts.flatMap(({ counter: { sum } }) => sum === undefined ? [] : [sum])
}
