/**
 * Counts what every limited party has used, in memory: one instance for all calls of a machine.
 *
 * A call reserves everything it may use before the provider request, in all its accounts or in none, and
 * settles its actual usage when it has ended. Nothing here awaits, so nothing interleaves.
 *
 * Of each sum: left = amount − used − reserved − elsewhere. An amount is in one of these places at any time:
 * reserved while its call is open, used once it has ended; what other processes have used or reserved is
 * elsewhere until the ledger has it (`docs/limits.md`).
 */

import { fullBucket, fullInMs, remaining, take, waitMs, type Bucket } from './bucket.ts'
import { partyName, type Account, type RateAccount, type SumAccount, type Unit } from './call-accounts.ts'
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

/** Settles a reservation that no call has: it was no request either. */
export const noUse: ActualUsage = { used: { requests: -1 } }

/** Describes how much of a limit per minute is left. */
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
  /** Its place in the list of the call. */
  readonly account: number
  readonly reason: Refusal
  /** Milliseconds after which to try again; 0 where waiting does not help. */
  readonly waitMs: number
  /** The end of the window of a sum, in Unix milliseconds. */
  readonly endMs?: number
}

/** Describes the limits of a call with a decision on it. */
export interface LimitStatus {
  readonly rateLimits: RateLimits
  /** What was used of each sum, in the order of the accounts; empty where that is not known. */
  readonly used: readonly number[]
}

export type LimitDecision = LimitStatus & (
  | {
    readonly admitted: true
    readonly reservation: number
    readonly granted: Granted
    /** True where the store has not said what was used of a sum. */
    readonly isUnread?: boolean
  }
  | { readonly admitted: false } & AccountRefusal
)

/** What is known of a sum. */
interface Sum {
  readonly period: Period
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

/** The counter of an account at the moment of a call: named once, as a call reads it several times. */
type Counter =
  | { readonly account: SumAccount, readonly name: string, readonly period: Period }
  | { readonly account: RateAccount, readonly name: string, readonly period: undefined }

/** The part of a reservation that counts in one account. */
export interface Part {
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

/** The part of a reservation that counts in a sum. */
export interface SumPart extends SumKey {
  readonly amount: number
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

  /** Lists the sums that a call counts in now. */
  sumsOf ({ accounts }: Pick<ReservationRequest, 'accounts'>): SumKey[] {
    const nowMs = this.#now()
    const sums: SumKey[] = []
    for (const account of accounts) if (account.counting === 'sum') sums.push(sumOfAccount(account, nowMs))
    return sums
  }

  /**
   * Sets what all processes have used in a period, as the ledger has it. What was counted here and is
   * not in the ledger yet must not get lost: the higher of both counts, but for recent refunds.
   *
   * @returns what counts now
   */
  setUsed (key: SumKey, used: number): number {
    const sum = this.#sumOf(key.name, key.period)
    const refunded = sum.refunds === undefined ? 0 : unrecordedRefunds(sum.refunds, this.#now())
    const counted = Math.max(sum.used, used - refunded)
    this.#sums.set(key.name, { ...sum, used: counted })
    return counted
  }

  /**
   * Sets how much of a sum other gateways hold, or this one has used and not recorded, after `setUsed` of the
   * same period.
   */
  setElsewhere ({ name, period }: SumKey, elsewhere: number): void {
    const sum = this.#sumOf(name, period)
    if (sum.elsewhere !== elsewhere) this.#sums.set(name, { ...sum, elsewhere })
  }

  /** Returns what open calls hold of a sum. */
  reservedOf ({ name, period }: SumKey): number {
    return this.#sumOf(name, period).reserved
  }

  /** Lists what open calls hold of sums. */
  * holdings (): Generator<Holding, void, undefined> {
    for (const [name, { period: { fromMs }, reserved }] of this.#sums) {
      if (reserved > 0) yield { ...partsOf(name), fromMs, amount: reserved }
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
    for (const { name, period } of counters) {
      if (period !== undefined) used.push(this.#sumOf(name, period).used)
    }
    if (refusal !== undefined) {
      return { admitted: false, ...refusal, used, rateLimits: this.#statusesOf(counters, nowMs) }
    }
    if (onlyLook) return looked(used, this.#statusesOf(counters, nowMs))
    const granted = this.#grantOf(counters, wanted)
    const parts = counters.map((counter): Part => {
      const amount = amountOf(counter.account, wanted, granted, alreadyAdmitted)
      this.#change(counter, amount, nowMs)
      return { counter, amount }
    })
    const reservation = ++this.#last
    this.#reservations.set(reservation, { parts, holder, rowId })
    return { admitted: true, reservation, granted, used, rateLimits: this.#statusesOf(counters, nowMs) }
  }

  /**
   * Replaces a reservation with the actual usage; further calls do nothing.
   *
   * @returns the parts of the reservation
   */
  settle (reservation: number, { used }: ActualUsage): readonly Part[] {
    const reserved = this.#reservations.get(reservation) ?? this.#leftover.get(reservation)
    if (reserved === undefined) return []
    this.#reservations.delete(reservation)
    this.#leftover.delete(reservation)
    const nowMs = this.#now()
    for (const { counter, amount } of reserved.parts) {
      const { account, name, period } = counter
      if (period === undefined) {
        this.#change(counter, settledChange(account, amount, used), nowMs)
        continue
      }
      const sum = this.#sumOf(name, period)
      const more = used[account.unit] ?? 0
      const refunds = more < 0 ? addRefund(sum.refunds, -more, nowMs) : sum.refunds
      this.#sums.set(name, { ...sum, used: sum.used + more, reserved: sum.reserved - amount, refunds })
    }
    return reserved.parts
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
        const { account, period } = counter
        if (period === undefined) this.#change(counter, releasedChange(account, amount), nowMs)
      }
      const left = parts.filter(({ counter: { period }, amount }) => period !== undefined && amount > 0)
      if (left.length > 0) this.#leftover.set(id, { ...reservation, parts: left })
      for (const sum of sumParts(left)) sums.set(sum.name, sum)
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
      const refusal = { account: index, ...found }
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
  ): Omit<AccountRefusal, 'account'> | undefined {
    const { name } = counter
    if (counter.period !== undefined) {
      const { account, period } = counter
      const { used, reserved, elsewhere } = this.#sumOf(name, period)
      const left = account.amount - used
      const refused = refusalOfSum(left, boundsOf(account, wanted).least, left - reserved - elsewhere)
      if (refused === undefined) return undefined
      return { ...nameRefusal(account.name, refused), endMs: period.endMs }
    }
    const { account } = counter
    const { counting, amount, limit } = account
    const reason = countedLimits[limit].refusal
    switch (counting) {
      case 'open': return (this.#open.get(name) ?? 0) < amount ? undefined : { reason, waitMs: retryAfterMs }
      case 'rate': {
        const wait = waitMs(this.#bucketOf(name), amount, amountOfRate(account, wanted), nowMs)
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
    const granted = mostOf(wanted)
    for (const { account, name, period } of counters) {
      if (period === undefined || !account.strict) continue
      const { used, reserved, elsewhere } = this.#sumOf(name, period)
      const { least } = boundsOf(account, wanted)
      granted[account.unit] = Math.max(
        least,
        Math.min(granted[account.unit] ?? 0, account.amount - used - reserved - elsewhere)
      )
    }
    return granted
  }

  #sumOf (name: string, period: Period): Sum {
    return this.#sums.get(name) ?? { period, used: 0, reserved: 0, elsewhere: 0, refunds: undefined }
  }

  #bucketOf (name: string): Bucket {
    return this.#rates.get(name)?.bucket ?? fullBucket
  }

  /** Adds to what is counted in an account. */
  #change ({ account, name, period }: Counter, by: number, nowMs: number): void {
    if (period !== undefined) {
      const sum = this.#sumOf(name, period)
      this.#sums.set(name, { ...sum, reserved: sum.reserved + by })
      return
    }
    const { counting, amount: limit } = account
    switch (counting) {
      case 'rate': {
        const bucket = take(this.#bucketOf(name), limit, by, nowMs)
        this.#rates.set(name, { bucket, limit })
        return
      }
      case 'open': {
        const open = (this.#open.get(name) ?? 0) + by
        if (open === 0) this.#open.delete(name)
        else this.#open.set(name, open)
        return
      }
    }
    counting satisfies never
  }

  #statusesOf (counters: readonly Counter[], nowMs: number): RateLimits {
    const statuses: Partial<Record<Unit, RateLimitStatus>> = {}
    for (const { account: { counting, unit, amount: limit }, name } of counters) {
      if (counting !== 'rate' || statuses[unit] !== undefined) continue
      const bucket = this.#bucketOf(name)
      statuses[unit] = {
        limit, remaining: remaining(bucket, limit, nowMs), resetMs: fullInMs(bucket, limit, nowMs)
      }
    }
    return statuses
  }
}

/**
 * Returns how a sum refuses a call that takes at least so much: for its window, or while other calls are
 * open.
 */
export function refusalOfSum (
  left: number,
  least: number,
  leftBesideOpen: number
): '' | 'too_small' | 'reserved' | undefined {
  if (left <= 0) return ''
  if (least > left) return 'too_small'
  return least > leftBesideOpen ? 'reserved' : undefined
}

/** Names the refusal of a sum, and when to try again. */
export function nameRefusal (
  name: SumAccount['name'],
  refused: '' | 'too_small' | 'reserved'
): Pick<AccountRefusal, 'reason' | 'waitMs'> {
  return refused === ''
    ? { reason: name, waitMs: 0 }
    : { reason: `${name}_${refused}`, waitMs: refused === 'reserved' ? retryAfterMs : 0 }
}

/** Describes limits of which nothing was reserved. */
export function looked (used: readonly number[], rateLimits: RateLimits): LimitDecision {
  return { admitted: true, reservation: 0, granted: {}, used, rateLimits }
}

/** Refuses a call as the store has not said what was used of one of its sums. */
export function unreadRefusal (accounts: readonly Account[], { party, unit }: SumKey): LimitDecision {
  // By what no clock changes: its window may have ended during the wait for the store.
  const account = accounts.findIndex(account => (
    account.counting === 'sum' && account.unit === unit && partyName(account) === party
  ))
  return {
    admitted: false, account, reason: 'budget_unread', waitMs: retryAfterMs, rateLimits: {}, used: []
  }
}

/** Returns the most that is wanted of each unit. */
export function mostOf (wanted: ReservationRequest['wanted']): Partial<Record<Unit, number>> {
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
export function amountOf (
  account: Account,
  wanted: ReservationRequest['wanted'],
  granted: Granted,
  alreadyAdmitted: boolean
): number {
  const { unit } = account
  switch (account.counting) {
    case 'open': return alreadyAdmitted ? 0 : 1
    case 'rate': return alreadyAdmitted && unit === 'requests' ? 0 : amountOfRate(account, wanted)
    case 'sum': return account.strict ? granted[unit] ?? 0 : boundsOf(account, wanted).most
  }
  return account satisfies never
}

/** Returns what a call takes of a limit per minute: at most a minute's amount, which a full bucket has. */
function amountOfRate ({ unit, amount }: RateAccount, wanted: ReservationRequest['wanted']): number {
  return unit === 'requests' ? 1 : Math.min(wanted[unit]?.most ?? 0, amount)
}

/** Returns what a settlement adds to a rate, or to the open calls. */
export function settledChange (
  { counting, unit }: Account,
  reserved: number,
  used: ActualUsage['used']
): number {
  if (counting === 'open') return -reserved
  return unit === 'requests' ? used.requests ?? 0 : (used[unit] ?? 0) - reserved
}

/** Returns what is given back of a call whose process exited: that it was a request stays. */
function releasedChange ({ unit }: Account, reserved: number): number {
  return unit === 'requests' ? 0 : -reserved
}

/** Returns the sum of a party, a unit and a period. The party, which may be any text, ends its name. */
export function sumOf (party: string, unit: Unit, period: Period): SumKey {
  return { name: `${unit} ${period.name} ${period.fromMs} ${party}`, party, unit, period }
}

/** Returns the sum that an account counts in at a moment. */
export function sumOfAccount (account: SumAccount, nowMs: number): SumKey {
  return sumOf(partyName(account), account.unit, periodOf(account.window, nowMs))
}

function counterOf (account: Account, nowMs: number): Counter {
  switch (account.counting) {
    case 'sum': {
      const { name, period } = sumOfAccount(account, nowMs)
      return { account, name, period }
    }
    case 'open': return { account, name: partyName(account), period: undefined }
    case 'rate': return { account, name: `${account.unit} ${partyName(account)}`, period: undefined }
  }
  return account satisfies never
}

/** Lists the parts of a reservation that counted in sums. */
export function sumParts (parts: readonly Part[]): SumPart[] {
  return parts.flatMap(({ counter: { account, name, period }, amount }) => (
    period === undefined ? [] : [{ name, party: partyName(account), unit: account.unit, period, amount }]
  ))
}

function partsOf (name: string): Pick<Holding, 'party' | 'unit'> {
  const [unit, , , ...party] = name.split(' ')
  return { unit: unit as Unit, party: party.join(' ') } // as `sumOf` has put them together
}
