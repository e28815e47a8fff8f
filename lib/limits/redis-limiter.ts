/**
 * Decides on calls of limited keys with counters in Redis that all machines share: one round trip before a
 * call, and one after it that no call waits for. Calls of one tick are batched (`count-batch`).
 *
 * While Redis is unavailable, `limits.without_coordination` decides: calls get a share of the limits, pass,
 * or are refused. After a reconnect, Redis gets the open calls, and the recently ended ones whose usage rows
 * may not be in the ledger yet.
 */

import { GatewayError } from '../core/errors.ts'
import { counterName, countersOf, sumsOf, type SumKey } from './sum-keys.ts'
import { isPerCall, type Account } from './call-accounts.ts'
import { LimitShare } from './limit-share.ts'
import {
  isLeased, RedisCounters, renewEveryMs, type RedisDecision, type RedisReservation
} from './redis-counters.ts'
import {
  maxRequested,
  nothingReserved,
  cancelledUsage,
  type Granted,
  type LimitDecision,
  type RateLimits,
  type RequestedAmounts,
  type ReservationRequest,
  type ActualUsage,
  type RecordedUsage
} from './reservation.ts'
import { PrunedMap } from '../async/pruned-map.ts'
import { recordedAfterMs } from '../usage/refunds.ts'
import { idleSumMs } from './sum-counters.ts'
import { SpendingReader, type ReadUsed } from './spending-reader.ts'
import type { RedisServer } from '../coordination/redis-server.ts'
import type { Settings } from '../core/settings.ts'
import type { Limiter } from './limiter.ts'

type WithoutCoordination = Settings['limits']['withoutCoordination']

export interface RedisLimiterOptions {
  /** Reads the usage ledger that all machines share. */
  readonly readUsed?: ReadUsed | undefined
  /** Called when the ledger cannot be read: sums then count what Redis has. */
  readonly onFailure: (error: unknown) => void
  /** Called each time the ledger was read. */
  readonly onSuccess?: () => void
  /** Returns what happens to calls while Redis is unavailable. */
  readonly without: () => WithoutCoordination
  /** Milliseconds for which a reading of the ledger is used. Default 1000. */
  readonly rereadMs?: number
  /** Milliseconds after a call ends until its record is in the ledger. Default 5000. */
  readonly recordedAfterMs?: number
  /** Returns monotonic milliseconds. */
  readonly now?: () => number
}

interface Open {
  /** The reservations, one per party. */
  readonly held: readonly RedisReservation[]
  /** True once it was sent to Redis. */
  readonly isShared: boolean
  /** The share it was taken from while Redis was unavailable. */
  readonly share?: { readonly of: LimitShare, readonly reservation: number }
}

/** An ended call that is not known to be settled in Redis. */
interface Ended {
  /** Its state in Redis. `uncertain`: reserved, unless the settlement has arrived. */
  readonly inRedis: 'nothing' | 'reserved' | 'uncertain'
  /** When the ledger has the call's usage. */
  readonly recordedAtMs: number
}

/** The known usage of a sum. */
interface KnownSum {
  readonly sum: SumKey
  /** From the last reading of the ledger. */
  readonly recorded: number
  /** From Redis, which may be ahead of the ledger, or behind after losing its data. */
  readonly counted: number
  /**
   * The time of `counted`. The ledger catches up with it, including refunds, which must not be overridden.
   */
  readonly countedAtMs: number
  /** When it was last read or counted, in Unix milliseconds. */
  readonly notedMs: number
}

/** Reserves and settles in Redis; keeps open calls, so that they are known there after an outage. */
export class RedisLimiter implements Limiter {
  readonly #server: RedisServer
  readonly #options: RedisLimiterOptions
  readonly #counters: RedisCounters
  readonly #open = new Map<number, Open>()
  /** Reservations of ended calls, until Redis has released them. */
  readonly #ended = new Map<RedisReservation, Ended>()
  /** Settlements without a reply yet. */
  readonly #settling = new Set<Promise<void>>()
  /** What is known of sums; forgotten a day after their last call, as Redis and the ledger have them. */
  readonly #sums = new PrunedMap<KnownSum>(({ sum: { period }, notedMs }) => (
    this.#server.now() >= Math.min(period.endMs, notedMs + idleSumMs)
  ))
  readonly #timer: NodeJS.Timeout
  #releaseTimer: NodeJS.Timeout | undefined
  readonly #now: () => number
  readonly #recordedAfterMs: number
  #reader: SpendingReader
  #share: LimitShare | undefined
  #last = 0
  #decidedAlone = 0

  constructor (server: RedisServer, options: RedisLimiterOptions) {
    this.#server = server
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#recordedAfterMs = options.recordedAfterMs ?? recordedAfterMs
    this.#counters = new RedisCounters(server)
    this.#reader = this.#newReader()
    server.on('reachable', this.#reconcile)
    server.on('exited', this.#forget)
    this.#timer = setInterval(() => this.#renew(), renewEveryMs).unref()
  }

  /** Returns the number of calls decided without Redis. */
  get decidedAlone (): number {
    return this.#decidedAlone
  }

  async reserve (request: ReservationRequest): Promise<LimitDecision> {
    const { accounts, wanted } = request
    if (accounts.length === 0) {
      return {
        admitted: true, reservation: ++this.#last, granted: maxRequested(wanted), rateLimits: {}, used: []
      }
    }
    if (!this.#server.isUp) return await this.#reserveAlone(request)
    const sums = sumsOf(countersOf(accounts, this.#server.now()))
    return await this.#reader.afterReading(sums, request, async () => (
      await this.#reserveAtParties(request) ?? await this.#reserveAlone(request)
    ))
  }

  settle (reservation: number, used: ActualUsage): void {
    const open = this.#open.get(reservation)
    if (open === undefined) return
    this.#open.delete(reservation)
    open.share?.of.settle(open.share.reservation, used)
    const recordedAtMs = this.#now() + this.#recordedAfterMs
    for (const held of open.held) {
      if (open.isShared) this.#settleSoon(held, used, recordedAtMs)
      else if (isLeased(held)) this.#ended.set(held, { inRedis: 'nothing', recordedAtMs })
    }
  }

  async settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    await Promise.all(this.#settling)
    if (usages.length === 0) return
    if (!this.#server.isUp) throw new Error('Redis cannot be reached')
    await this.#counters.settleRecorded(usages)
  }

  close (): void {
    clearInterval(this.#timer)
    clearTimeout(this.#releaseTimer)
    this.#server.off('reachable', this.#reconcile)
    this.#server.off('exited', this.#forget)
  }

  /**
   * Reserves at one party after the other, because they may be on different nodes of a cluster. If one
   * refuses, the reservations at the others are released.
   *
   * @returns `undefined` if Redis does not reply
   */
  async #reserveAtParties (request: ReservationRequest): Promise<LimitDecision | undefined> {
    // A new id for each try: a late settlement of one must not end the next.
    const id = this.#newId(request)
    const held: RedisReservation[] = []
    let { wanted } = request
    let rateLimits: RateLimits = {}
    const used: number[] = []
    for (const { accounts, indexes } of accountsByParty(request.accounts)) {
      const own = { ...request, accounts, wanted }
      const found = await this.#reserveAt(id, own)
      if (found === undefined) {
        if (request.purpose === 'describe') return undefined
        // It may be reserved nevertheless; it has used nothing.
        this.#ended.set(this.#counters.plan(id, own), { inRedis: 'uncertain', recordedAtMs: 0 })
        this.#release(held)
        return undefined
      }
      const { decision, reservation } = found
      rateLimits = Object.assign({}, decision.rateLimits, rateLimits)
      used.push(...decision.used)
      if (!decision.admitted) {
        this.#release(held)
        return { ...decision, accountIndex: indexes[decision.accountIndex] ?? 0, rateLimits, used }
      }
      held.push(reservation)
      wanted = atMost(wanted, decision.granted)
    }
    if (request.purpose === 'describe') return { ...nothingReserved, used, rateLimits }
    const reservation = this.#admit({ held, isShared: true })
    return { admitted: true, granted: maxRequested(wanted), rateLimits, used, reservation }
  }

  /** Reserves in the accounts of one party, and notes the usage that Redis returns. */
  async #reserveAt (id: string, request: ReservationRequest): Promise<RedisDecision | undefined> {
    try {
      const found = await this.#counters.reserve(id, request, sum => this.#usedOf(sum))
      for (const { sum, used: counted } of found.used) this.#note(sum, { counted, countedAtMs: this.#now() })
      return found
    } catch {
      return undefined // `RedisServer` has emitted the failure
    }
  }

  /** @throws GatewayError `overloaded` if the configuration says to refuse */
  async #reserveAlone (request: ReservationRequest): Promise<LimitDecision> {
    if (request.purpose === 'describe') return { ...nothingReserved, used: [], rateLimits: {} }
    const without = request.purpose === 'count' ? 'allow' : this.#options.without()
    if (without === 'refuse') {
      throw new GatewayError('overloaded', {
        message: 'Limits cannot be checked at the moment. Try again later.',
        retryAfterSeconds: 5
      })
    }
    this.#decidedAlone++
    // Rates are not sent to Redis after a reconnect.
    const heldOf = (granted: Granted): RedisReservation[] =>
      accountsByParty(request.accounts).map(({ accounts }) => {
        const plan = this.#counters.plan(this.#newId(request), {
          ...request,
          accounts,
          wanted: Object.fromEntries(Object.entries(granted).map(([unit, max]) => [unit, { max }]))
        })
        return { ...plan, parts: plan.parts.filter(({ account: { counting } }) => counting !== 'rate') }
      })
    if (without === 'allow') {
      const granted = maxRequested(request.wanted)
      return {
        admitted: true,
        reservation: this.#admit({ held: heldOf(granted), isShared: false }),
        granted,
        rateLimits: {},
        used: []
      }
    }
    const share = this.#share ??= this.#newShare()
    const decision = await share.reserve(request)
    if (!decision.admitted) return decision
    const { granted, reservation } = decision
    return {
      ...decision,
      reservation: this.#admit({ held: heldOf(granted), isShared: false, share: { of: share, reservation } })
    }
  }

  /**
   * Creates the id of a reservation in Redis; it contains the id of the usage row that settles it after a
   * kill.
   */
  #newId ({ rowId }: ReservationRequest): string {
    return `${this.#server.id}-${++this.#last}${rowId === undefined ? '' : `-${rowId}`}`
  }

  #admit (open: Open): number {
    const reservation = ++this.#last
    this.#open.set(reservation, open)
    return reservation
  }

  /** Cancels the reservations of a call that is not admitted. */
  #release (held: readonly RedisReservation[]): void {
    for (const reservation of held) this.#settleSoon(reservation, cancelledUsage, 0)
  }

  /** @param recordedAtMs when the ledger has the call's usage; 0 if it used nothing */
  #settleSoon (held: RedisReservation, used: ActualUsage, recordedAtMs: number): void {
    const settled = this.#settleShared(held, used, recordedAtMs).finally(() => {
      this.#settling.delete(settled)
    })
    this.#settling.add(settled)
  }

  async #settleShared (held: RedisReservation, used: ActualUsage, recordedAtMs: number): Promise<void> {
    const { isUp } = this.#server
    try {
      if (!isUp) throw new Error('Redis cannot be reached')
      await this.#counters.settle(held, used)
    } catch {
      if (isLeased(held)) this.#ended.set(held, { inRedis: isUp ? 'uncertain' : 'reserved', recordedAtMs })
    }
  }

  /** Sends all reservations again after a reconnect, because Redis may have lost its data. */
  readonly #reconcile = (): void => {
    this.#share = undefined
    this.#reader = this.#newReader()
    for (const [reservation, open] of this.#open) {
      if (open.held.some(isLeased)) this.#open.set(reservation, { ...open, isShared: true })
    }
    this.#renew()
    clearTimeout(this.#releaseTimer)
    this.#releaseTimer = setTimeout(() => this.#renew(), this.#recordedAfterMs).unref()
  }

  /** Releases the reservations of exited processes after reading the ledger again, which has their usage. */
  readonly #forget = (exited: readonly string[]): void => {
    this.#reader = this.#newReader()
    this.#counters.forget(exited)
  }

  /** Renews the reservations of open calls, and of ended calls until the ledger has their records. */
  #renew (): void {
    this.#renewEnded()
    if (!this.#server.isUp) return
    for (const { held, isShared } of this.#open.values()) {
      if (!isShared) continue
      // `RedisServer` has emitted any failure; `#reconcile` renews them all.
      for (const reservation of held) {
        if (isLeased(reservation)) this.#counters.renew(reservation).catch(() => undefined)
      }
    }
  }

  /** Keeps reservations of ended calls until the ledger has their records, then releases them. */
  #renewEnded (): void {
    const { isUp } = this.#server
    for (const [held, ended] of this.#ended) {
      const isRecorded = this.#now() >= ended.recordedAtMs
      if (isRecorded && (isUp || ended.inRedis === 'nothing')) this.#ended.delete(held)
      if (!isUp) continue
      // Redis ignores a repeated settlement.
      if (isRecorded) this.#settleSoon(held, { used: usedAsReserved(held) }, ended.recordedAtMs)
      else this.#holdSums(held, ended)
    }
  }

  /** Ends a call in Redis, but keeps its sums reserved. */
  #holdSums (held: RedisReservation, ended: Ended): void {
    // `RedisServer` has emitted any failure; the call is ended again after a reconnect.
    this.#counters.end(held).catch(() => undefined)
    if (ended.inRedis === 'uncertain') return
    this.#counters.renew({ ...held, isOpen: false }).catch(() => undefined)
    this.#ended.set(held, { ...ended, inRedis: 'reserved' })
  }

  #newReader (): SpendingReader {
    const { readUsed, onFailure, onSuccess, rereadMs = 1000 } = this.#options
    return new SpendingReader({
      readUsed,
      onFailure,
      onSuccess,
      rereadMs,
      onRead: (sum, recorded) => this.#note(sum, { recorded })
    })
  }

  #newShare (): LimitShare {
    const { readUsed, onFailure, onSuccess } = this.#options
    const reservedOf = ({ name }: SumKey): number => {
      const open = [...this.#open.values()].filter(({ isShared }) => isShared).flatMap(({ held }) => held)
      const ended = [...this.#ended].filter(([, { recordedAtMs }]) => this.#now() < recordedAtMs)
      return [...open, ...ended.map(([held]) => held)]
        .flatMap(({ parts }) => parts)
        .reduce((reserved, { sum, amount }) => sum?.name === name ? reserved + amount : reserved, 0)
    }
    return new LimitShare({
      readUsed, onFailure, onSuccess, now: () => this.#server.now(), processes: this.#server.processes,
      usageOf: sum => ({ used: this.#usedOf(sum), reserved: reservedOf(sum) })
    })
  }

  #note (sum: SumKey, { recorded, counted, countedAtMs }: Partial<KnownSum>): void {
    const before = this.#sums.get(sum.name)
    this.#sums.set(sum.name, {
      sum,
      recorded: recorded ?? before?.recorded ?? 0,
      counted: counted ?? before?.counted ?? 0,
      countedAtMs: countedAtMs ?? before?.countedAtMs ?? 0,
      notedMs: this.#server.now()
    })
  }

  /** Returns the known usage of a sum. */
  #usedOf (sum: SumKey): number {
    const counts = this.#sums.get(sum.name)
    if (counts === undefined) return 0
    return this.#now() - counts.countedAtMs < recordedAfterMs
      ? Math.max(counts.recorded, counts.counted)
      : counts.recorded
  }
}

/** Groups accounts by party, with their indexes in the list of the call. */
function accountsByParty (
  accounts: readonly Account[]
): ReadonlyArray<{ readonly accounts: readonly Account[], readonly indexes: readonly number[] }> {
  const parties = new Map<string, { accounts: Account[], indexes: number[] }>()
  for (const [index, account] of accounts.entries()) {
    const name = counterName(account.party)
    const party = parties.get(name)
    if (party === undefined) parties.set(name, { accounts: [account], indexes: [index] })
    else {
      party.accounts.push(account)
      party.indexes.push(index)
    }
  }
  return [...parties.values()]
}

/** Limits the wanted amounts to what a party has granted. */
function atMost (wanted: RequestedAmounts, granted: Granted): RequestedAmounts {
  return Object.fromEntries(Object.entries(wanted).map(([unit, { min, max, typical }]) => [unit, {
    max: Math.min(max, granted[unit as keyof Granted] ?? max),
    min: min ?? max,
    ...typical !== undefined && { typical }
  }]))
}

/** Returns a usage that leaves rates as reserved. */
function usedAsReserved ({ parts }: RedisReservation): ActualUsage['used'] {
  return Object.fromEntries(
    parts.flatMap(({ account: { counting, unit }, amount }) =>
      counting === 'rate' && !isPerCall(unit) ? [[unit, amount]] : []
    )
  )
}
