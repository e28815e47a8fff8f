/**
 * Counts what every limited party has used, in memory: one instance for all calls of a machine.
 *
 * A call reserves everything it may use before the provider request, in all its accounts or in none, and settles its
 * actual usage when it has ended. Nothing here awaits, so nothing interleaves.
 *
 * Of each sum: left = amount − used − reserved − elsewhere. An amount is in one of these places at any time: reserved while its call is
 * open, used once it has ended; what other processes have used or reserved is elsewhere until the ledger has it (`docs/limits.md`).
 */

import { fullBucket, fullInMs, remaining, take, waitMs, type Bucket } from './bucket.ts'
import { partyName, type Account, type SumAccount, type Unit } from './call-accounts.ts'
import { addRefund, unrecordedRefunds, type Refunds } from '../usage/refunds.ts'
import { periodOf, type Period } from './windows.ts'
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
  /** What it may use of each unit; absent means nothing. A call is one request and one open call in any case. */
  readonly wanted: Readonly<Partial<Record<Unit, Wanted>>>
  /** The id of the usage record that the call will have: it settles the reservation of a process that was killed. */
  readonly rowId?: string
  /** True for a call that was admitted earlier and only counts now: no limit refuses it, and it is no open call. */
  readonly alreadyAdmitted?: boolean
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

export type LimitDecision = { readonly rateLimits: RateLimits } & (
  | { readonly admitted: true, readonly reservation: number, readonly granted: Granted }
  | { readonly admitted: false } & AccountRefusal
)

/** What is known of a sum. */
interface Sum {
  readonly period: Period
  readonly used: number
  readonly reserved: number
  /** Used or reserved by other gateways on the store, and used but not recorded yet by this one; 0 while it is alone. */
  readonly elsewhere: number
  /** Absent while nothing was given back. */
  readonly refunds: Refunds | undefined
}

/** The sum of one party, unit and period. */
export interface SumKey {
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

/** The part of a reservation that counts in one account. */
interface Part {
  readonly account: Account
  readonly amount: number
  /** Of a sum. */
  readonly period?: Period
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

/** The time after which open calls may have ended. */
export const retryAfterMs = 1000

export class LimitCounters {
  readonly #now: () => number
  readonly #rates = new PrunedMap<Rate>(({ bucket, limit }) => fullInMs(bucket, limit, this.#now()) === 0)
  readonly #open = new Map<string, number>()
  readonly #sums = new PrunedMap<Sum>(({ period, reserved }) => reserved === 0 && this.#now() >= period.endMs)
  readonly #reservations = new Map<number, Reservation>()
  /** What is left reserved of sums for processes that have exited. */
  readonly #left = new Map<number, Reservation>()
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
    return accounts.filter(account => account.counting === 'sum').map(account => this.#keyOf(account))
  }

  /**
   * Sets what all processes have used in a period, as the ledger has it. What was counted here and is
   * not in the ledger yet must not get lost: the higher of both counts, but for recent refunds.
   *
   * @returns what counts now
   */
  setUsed (key: SumKey, used: number): number {
    const sum = this.#sumOf(key)
    const counted = Math.max(sum.used, used - unrecordedRefunds(sum.refunds, this.#now()))
    this.#sums.set(sumName(key), { ...sum, used: counted })
    return counted
  }

  /** Sets how much of a sum other gateways hold, or this one has used and not recorded, after `setUsed` of the same period. */
  setElsewhere (key: SumKey, elsewhere: number): void {
    const sum = this.#sumOf(key)
    if (sum.elsewhere !== elsewhere) this.#sums.set(sumName(key), { ...sum, elsewhere })
  }

  /** Returns what open calls hold of a sum. */
  reservedOf (key: SumKey): number {
    return this.#sumOf(key).reserved
  }

  /** Lists what open calls hold of sums. */
  * holdings (): Generator<Holding, void, undefined> {
    for (const [name, { period: { fromMs }, reserved }] of this.#sums) {
      if (reserved > 0) yield { ...partsOf(name), fromMs, amount: reserved }
    }
  }

  /** Returns the parts of a reservation that count in sums. */
  sumPartsOf (reservation: number): SumPart[] {
    return sumParts(this.#find(reservation)?.parts ?? [])
  }

  /** Reserves everything a call may use in all its accounts, or nothing. */
  reserve ({ accounts, wanted, rowId, alreadyAdmitted = false }: ReservationRequest, holder = ''): LimitDecision {
    const nowMs = this.#now()
    const refusal = alreadyAdmitted ? undefined : this.#refusalOf(accounts, wanted, nowMs)
    if (refusal !== undefined) return { admitted: false, ...refusal, rateLimits: this.#statusesOf(accounts, nowMs) }
    const granted = this.#grantOf(accounts, wanted)
    const parts = accounts.map((account): Part => {
      const amount = amountOf(account, wanted, granted, alreadyAdmitted)
      return account.counting === 'sum' ? { account, amount, period: periodOf(account.window, nowMs) } : { account, amount }
    })
    for (const part of parts) this.#change(part.account, part.amount, nowMs)
    const reservation = ++this.#last
    this.#reservations.set(reservation, { parts, holder, rowId })
    return { admitted: true, reservation, granted, rateLimits: this.#statusesOf(accounts, nowMs) }
  }

  /** Replaces a reservation with the actual usage; further calls do nothing. */
  settle (reservation: number, { used }: ActualUsage): void {
    const reserved = this.#find(reservation)
    if (reserved === undefined) return
    this.#reservations.delete(reservation)
    this.#left.delete(reservation)
    const nowMs = this.#now()
    for (const { account, amount, period } of reserved.parts) {
      if (period !== undefined) this.#settleSum({ ...keyOf(account, period), amount }, used[account.unit] ?? 0, nowMs)
      else this.#change(account, settledChange(account, amount, used), nowMs)
    }
  }

  /**
   * Releases the reservations of a process that exited. Their parts of sums stay until `releaseSums`: its calls may have used as much.
   *
   * @returns the sums that it has left parts of
   */
  release (holder: string): SumKey[] {
    const nowMs = this.#now()
    const sums = new Map<string, SumKey>()
    for (const [id, { parts, ...reservation }] of this.#reservations) {
      if (reservation.holder !== holder) continue
      this.#reservations.delete(id)
      for (const { account, amount, period } of parts) if (period === undefined) this.#change(account, releasedChange(account, amount), nowMs)
      const left = parts.filter(({ period, amount }) => period !== undefined && amount > 0)
      if (left.length > 0) this.#left.set(id, { ...reservation, parts: left })
      for (const sum of sumParts(left)) sums.set(sumName(sum), sum)
    }
    return [...sums.values()]
  }

  /** Releases what `release` has left reserved and no usage record has settled. */
  releaseSums (holder: string): void {
    for (const [id, { holder: by }] of this.#left) if (by === holder) this.settle(id, { used: {} })
  }

  /** Lists the reservations whose calls will have one of these usage records, with its id. */
  * withRecords (rowIds: ReadonlySet<string>): Generator<readonly [rowId: string, reservation: number], void, undefined> {
    for (const reservations of [this.#reservations, this.#left]) {
      for (const [reservation, { rowId }] of reservations) if (rowId !== undefined && rowIds.has(rowId)) yield [rowId, reservation]
    }
  }

  #find (reservation: number): Reservation | undefined {
    return this.#reservations.get(reservation) ?? this.#left.get(reservation)
  }

  /** Finds the account that refuses: sums first, as waiting does not help there, then places, then what takes longest to refill. */
  #refusalOf (accounts: readonly Account[], wanted: ReservationRequest['wanted'], nowMs: number): AccountRefusal | undefined {
    let longest: AccountRefusal | undefined
    const refusals = accounts.map((account, place) => ({ account: place, counting: account.counting, found: this.#refuses(account, wanted, nowMs) }))
    for (const counting of ['sum', 'open', 'rate'] as const) {
      for (const { account, counting: own, found } of refusals) {
        if (own !== counting || found === undefined) continue
        if (counting !== 'rate') return { account, ...found }
        if (longest === undefined || found.waitMs > longest.waitMs) longest = { account, ...found }
      }
    }
    return longest
  }

  #refuses (account: Account, wanted: ReservationRequest['wanted'], nowMs: number): Omit<AccountRefusal, 'account'> | undefined {
    const { amount } = account
    switch (account.counting) {
      case 'sum': {
        const { used, reserved, elsewhere, period: { endMs } } = this.#sumOf(this.#keyOf(account, nowMs))
        const { least } = boundsOf(account, wanted)
        const refused = refusalOfSum(amount - used, least, amount - used - reserved - elsewhere)
        return refused === undefined ? undefined : { ...nameRefusal(account.name, refused), endMs }
      }
      case 'open': return (this.#open.get(partyName(account)) ?? 0) < amount ? undefined : { reason: account.refusal, waitMs: retryAfterMs }
      case 'rate': {
        const wait = waitMs(this.#bucketOf(account), amount, amountOf(account, wanted, mostOf(wanted), false), nowMs)
        return wait === 0 ? undefined : { reason: account.refusal, waitMs: wait }
      }
    }
    return account satisfies never
  }

  /** Returns what is reserved of each unit: what is wanted, or what each of its sums has left where less will do. */
  #grantOf (accounts: readonly Account[], wanted: ReservationRequest['wanted']): Granted {
    const granted: Partial<Record<Unit, number>> = mostOf(wanted)
    for (const account of accounts) {
      if (account.counting !== 'sum' || !account.strict) continue
      const { used, reserved, elsewhere } = this.#sumOf(this.#keyOf(account))
      const { least } = boundsOf(account, wanted)
      granted[account.unit] = Math.max(least, Math.min(granted[account.unit] ?? 0, account.amount - used - reserved - elsewhere))
    }
    return granted
  }

  #keyOf (account: SumAccount, nowMs = this.#now()): SumKey {
    return keyOf(account, periodOf(account.window, nowMs))
  }

  #sumOf (key: SumKey): Sum {
    return this.#sums.get(sumName(key)) ?? { period: key.period, used: 0, reserved: 0, elsewhere: 0, refunds: undefined }
  }

  #bucketOf (account: Account): Bucket {
    return this.#rates.get(rateName(account))?.bucket ?? fullBucket
  }

  /** Adds to what is counted in an account. */
  #change (account: Account, by: number, nowMs: number): void {
    switch (account.counting) {
      case 'rate': {
        const { amount: limit } = account
        this.#rates.set(rateName(account), { bucket: take(this.#bucketOf(account), limit, by, nowMs), limit })
        break
      }
      case 'open': {
        const name = partyName(account)
        const open = (this.#open.get(name) ?? 0) + by
        if (open === 0) this.#open.delete(name)
        else this.#open.set(name, open)
        break
      }
      case 'sum': {
        const key = this.#keyOf(account, nowMs)
        const sum = this.#sumOf(key)
        this.#sums.set(sumName(key), { ...sum, reserved: sum.reserved + by })
        break
      }
      default: account satisfies never
    }
  }

  /** Replaces a reserved part of a sum with what was used. */
  #settleSum ({ amount, ...key }: SumPart, used: number, nowMs: number): void {
    const sum = this.#sumOf(key)
    const refunds = used < 0 ? addRefund(sum.refunds, -used, nowMs) : sum.refunds
    this.#sums.set(sumName(key), { ...sum, used: sum.used + used, reserved: sum.reserved - amount, refunds })
  }

  #statusesOf (accounts: readonly Account[], nowMs: number): RateLimits {
    const statuses: Partial<Record<Unit, RateLimitStatus>> = {}
    for (const account of accounts) {
      if (account.counting !== 'rate' || statuses[account.unit] !== undefined) continue
      const { amount: limit } = account
      const bucket = this.#bucketOf(account)
      statuses[account.unit] = { limit, remaining: remaining(bucket, limit, nowMs), resetMs: fullInMs(bucket, limit, nowMs) }
    }
    return statuses
  }
}

/** Returns how a sum refuses a call that takes at least so much: for its window, or while other calls are open. */
export function refusalOfSum (left: number, least: number, leftBesideOpen: number): '' | 'too_small' | 'reserved' | undefined {
  if (left <= 0) return ''
  if (least > left) return 'too_small'
  return least > leftBesideOpen ? 'reserved' : undefined
}

/** Names the refusal of a sum, and when to try again. */
export function nameRefusal (name: SumAccount['name'], refused: '' | 'too_small' | 'reserved'): Pick<AccountRefusal, 'reason' | 'waitMs'> {
  return refused === '' ? { reason: name, waitMs: 0 } : { reason: `${name}_${refused}`, waitMs: refused === 'reserved' ? retryAfterMs : 0 }
}

export function mostOf (wanted: ReservationRequest['wanted']): Partial<Record<Unit, number>> {
  return Object.fromEntries(Object.entries(wanted).map(([unit, { most }]) => [unit, most]))
}

/** Returns the most and the least that a call reserves of a sum. */
export function boundsOf ({ unit, strict }: SumAccount, wanted: ReservationRequest['wanted']): { readonly most: number, readonly least: number } {
  const { most = 0, least = most, usual = most } = wanted[unit] ?? {}
  return strict ? { most, least } : { most: usual, least: usual }
}

/** Returns what a reservation takes of an account. A call that wants more than a minute's amount waits for a full bucket. */
export function amountOf (account: Account, wanted: ReservationRequest['wanted'], granted: Granted, alreadyAdmitted: boolean): number {
  const { unit } = account
  switch (account.counting) {
    case 'open': return alreadyAdmitted ? 0 : 1
    case 'rate': return unit === 'requests' ? 1 : Math.min(wanted[unit]?.most ?? 0, account.amount)
    case 'sum': return account.strict ? granted[unit] ?? 0 : boundsOf(account, wanted).most
  }
  return account satisfies never
}

/** Returns what a settlement adds to a rate, or to the open calls. */
export function settledChange ({ counting, unit }: Account, reserved: number, used: ActualUsage['used']): number {
  if (counting === 'open') return -reserved
  return unit === 'requests' ? used.requests ?? 0 : (used[unit] ?? 0) - reserved
}

/** Returns what is given back of a call whose process exited: that it was a request stays. */
function releasedChange ({ unit }: Account, reserved: number): number {
  return unit === 'requests' ? 0 : -reserved
}

function keyOf (account: Account, period: Period): SumKey {
  return { party: partyName(account), unit: account.unit, period }
}

function sumParts (parts: readonly Part[]): SumPart[] {
  return parts.flatMap(({ account, amount, period }) => period === undefined ? [] : [{ ...keyOf(account, period), amount }])
}

function rateName (account: Account): string {
  return `${account.unit} ${partyName(account)}`
}

/** Names a sum; the party, which may be any text, comes last. */
export function sumName ({ party, unit, period: { name, fromMs } }: SumKey): string {
  return `${unit} ${name} ${fromMs} ${party}`
}

function partsOf (name: string): Pick<Holding, 'party' | 'unit'> {
  const [unit, , , ...party] = name.split(' ')
  return { unit: unit as Unit, party: party.join(' ') } // as `sumName` has put them together
}
