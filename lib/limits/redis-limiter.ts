/**
 * Decides on calls of limited keys with counters in Redis, which all machines share: one round trip before a call, and one
 * after it that no call waits for. Calls of one turn share them (`count-batch`).
 *
 * While Redis is away, `limits.without_coordination` says what happens: calls get a share, pass, or are refused. When it is
 * back, open calls are shown to it, and what ended meanwhile counts with the usage records.
 */

import { GatewayError } from '../core/errors.ts'
import { LimitShare } from './limit-share.ts'
import { isLeased, RedisCounters, renewEveryMs, type RedisReservation } from './redis-counters.ts'
import { periodOf, type Period } from './budget.ts'
import { PrunedMap } from '../async/pruned-map.ts'
import { recordedAfterMs } from './refunds.ts'
import { SpendingReader, type ReadSpending } from './spending-reader.ts'
import type { RedisServer } from '../coordination/redis-server.ts'
import type { KeyLimits } from '../core/key.ts'
import type { Settings } from '../core/settings.ts'
import type { ActualUsage, LimitDecision, ReservationRequest } from './counters.ts'
import type { Limiter } from './limiter.ts'

type WithoutCoordination = Settings['limits']['withoutCoordination']

export interface RedisLimiterOptions {
  /** Reads the usage ledger, which all machines share. */
  readonly readSpending?: ReadSpending | undefined
  /** Called when the ledger cannot be read: budgets then count what Redis knows. */
  readonly onFailure: (error: unknown) => void
  /** Says what happens to calls while Redis is away. */
  readonly without: () => WithoutCoordination
  /** The time for which a reading of the ledger is used. Default 1000. */
  readonly rereadMs?: number
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

interface Open extends RedisReservation {
  /** True once it was sent to Redis. */
  readonly isShared: boolean
  /** The share it was taken from while Redis was away. */
  readonly share?: { readonly of: LimitShare, readonly reservation: number }
}

/** Amounts that a key has spent in its latest period, in billionths of a dollar. */
interface KnownSpending {
  readonly period: Period
  /** As the ledger had it when it was last read. */
  readonly recorded: number
  /** As Redis had it, which may know more than the ledger, or have less after it lost its data. */
  readonly counted: number
  /** The time of `counted`. After a while the ledger has it as well: what was given back since then must not be taken again. */
  readonly countedAtMs: number
}

const unused: ActualUsage = { tokens: 0, nanoUsd: 0 }

export class RedisLimiter implements Limiter {
  readonly #server: RedisServer
  readonly #options: RedisLimiterOptions
  readonly #counters: RedisCounters
  readonly #open = new Map<number, Open>()
  /** Reservations that Redis may still have although their calls have ended. */
  readonly #ended = new Set<RedisReservation>()
  /** By key. */
  readonly #spent = new PrunedMap<KnownSpending>(({ period }) => this.#server.now() >= period.endMs)
  readonly #timer: NodeJS.Timeout
  readonly #now: () => number
  #reader: SpendingReader
  #share: LimitShare | undefined
  #last = 0
  #decidedAlone = 0

  constructor (server: RedisServer, options: RedisLimiterOptions) {
    this.#server = server
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#counters = new RedisCounters(server)
    this.#reader = this.#newReader()
    server.on('back', this.#reconcile)
    server.on('gone', this.#forget)
    this.#timer = setInterval(() => this.#renew(), renewEveryMs).unref()
  }

  /** Returns the number of calls that were decided without Redis. */
  get decidedAlone (): number {
    return this.#decidedAlone
  }

  async reserve (wanted: ReservationRequest): Promise<LimitDecision> {
    const { limits } = wanted
    if (!isLimited(limits)) return { admitted: true, reservation: ++this.#last, nanoUsd: wanted.nanoUsd, rateLimits: {} }
    const capped = { ...wanted, tokens: Math.min(wanted.tokens, limits.tokensPerMinute ?? Infinity) }
    const period = limits.budget && periodOf(limits.budget.per, this.#server.now())
    return await this.#reserveShared(capped, period) ?? await this.#reserveAlone(capped, period)
  }

  settle (reservation: number, used: ActualUsage): void {
    const open = this.#open.get(reservation)
    if (open === undefined) return
    this.#open.delete(reservation)
    open.share?.of.settle(open.share.reservation, used)
    if (open.isShared) void this.#settleShared(open, used)
  }

  close (): void {
    clearInterval(this.#timer)
    this.#server.off('back', this.#reconcile)
    this.#server.off('gone', this.#forget)
  }

  /** @returns `undefined` while Redis is away */
  async #reserveShared (wanted: ReservationRequest, period: Period | undefined): Promise<LimitDecision | undefined> {
    const { keyId, limits, tokens } = wanted
    if (!this.#server.isUp) return undefined
    await this.#reader.read(keyId, period)
    const id = `${this.#server.id}-${++this.#last}`
    try {
      const { decision, spent } = await this.#counters.reserve(id, wanted, period, this.#spentIn(keyId, period))
      if (period !== undefined) this.#note(keyId, period, { counted: spent, countedAtMs: this.#now() })
      if (!decision.admitted) return decision
      return { ...decision, reservation: this.#admit({ id, keyId, limits, period, tokens, nanoUsd: decision.nanoUsd, isShared: true }) }
    } catch {
      this.#ended.add({ id, keyId, limits, period, tokens, nanoUsd: 0 }) // it may be reserved all the same
      return undefined
    }
  }

  /** @throws GatewayError `overloaded` where the configuration says to refuse */
  async #reserveAlone (wanted: ReservationRequest, period: Period | undefined): Promise<LimitDecision> {
    const { keyId, limits, nanoUsd, alreadyAdmitted } = wanted
    const without = alreadyAdmitted === true ? 'allow' : this.#options.without()
    if (without === 'refuse') throw new GatewayError('overloaded', { message: 'Limits cannot be checked at the moment. Try again later.', retryAfterSeconds: 5 })
    this.#decidedAlone++
    const unshared = { keyId, limits, period, tokens: 0, isShared: false }
    if (without === 'allow') return { admitted: true, reservation: this.#admit({ ...unshared, nanoUsd }), nanoUsd, rateLimits: {} }
    const share = this.#share ??= this.#newShare()
    const decision = await share.reserve(wanted)
    if (!decision.admitted) return decision
    const { nanoUsd: granted, reservation } = decision
    return { ...decision, reservation: this.#admit({ ...unshared, nanoUsd: granted, share: { of: share, reservation } }) }
  }

  #admit (open: Omit<Open, 'id'> & { readonly id?: string }): number {
    const reservation = ++this.#last
    this.#open.set(reservation, { id: `${this.#server.id}-${reservation}`, ...open })
    return reservation
  }

  async #settleShared (open: RedisReservation, used: ActualUsage): Promise<void> {
    try {
      if (!this.#server.isUp) throw new Error('Redis is away')
      await this.#counters.settle(open, used)
    } catch {
      if (isLeased(open)) this.#ended.add(open)
    }
  }

  /** Reconciles with a Redis that is back, and may have lost everything. */
  readonly #reconcile = (): void => {
    this.#share = undefined
    this.#reader = this.#newReader()
    for (const [reservation, open] of this.#open) if (isLeased(open)) this.#open.set(reservation, { ...open, isShared: true })
    this.#renew()
  }

  /** Releases what processes held that have exited, with a new reading of the ledger, which has what their calls cost. */
  readonly #forget = (exited: readonly string[]): void => {
    this.#reader = this.#newReader()
    this.#counters.forget(exited)
  }

  /** Shows open calls to Redis, and releases what it may still have of others. */
  #renew (): void {
    if (!this.#server.isUp) return
    // What they cost counts with their usage records. A second attempt does nothing if the first one did arrive.
    for (const ended of this.#ended) {
      this.#ended.delete(ended)
      void this.#settleShared({ ...ended, tokens: 0 }, unused)
    }
    const groups = new Map<string, [Open, ...Open[]]>()
    for (const open of this.#open.values()) {
      if (!open.isShared || !isLeased(open)) continue
      const name = `${open.period?.fromMs} ${open.keyId}`
      const group = groups.get(name)
      if (group === undefined) groups.set(name, [open])
      else group.push(open)
    }
    for (const group of groups.values()) this.#counters.renew(group).catch(() => undefined) // `RedisServer` has emitted it; `#reconcile` renews them all
  }

  #newReader (): SpendingReader {
    const { readSpending, onFailure, rereadMs = 1000 } = this.#options
    return new SpendingReader({
      readSpending, onFailure, rereadMs, now: () => this.#server.now(), onRead: (keyId, period, recorded) => this.#note(keyId, period, { recorded })
    })
  }

  #newShare (): LimitShare {
    const { readSpending, onFailure } = this.#options
    const reservedOf = (keyId: string, { fromMs }: Period): number => (
      [...this.#open.values()].reduce((sum, open) => open.isShared && open.keyId === keyId && open.period?.fromMs === fromMs ? sum + open.nanoUsd : sum, 0)
    )
    return new LimitShare({
      readSpending,
      onFailure,
      now: () => this.#server.now(),
      processes: this.#server.processes,
      known: (keyId, period) => ({ spent: this.#spentIn(keyId, period), reserved: reservedOf(keyId, period) })
    })
  }

  #note (keyId: string, period: Period, { recorded, counted, countedAtMs }: Partial<KnownSpending>): void {
    const known = this.#knownIn(keyId, period)
    this.#spent.set(keyId, {
      period,
      recorded: recorded ?? known?.recorded ?? 0,
      counted: counted ?? known?.counted ?? 0,
      countedAtMs: countedAtMs ?? known?.countedAtMs ?? 0
    })
  }

  /** Returns what is known to be spent. */
  #spentIn (keyId: string, period: Period | undefined): number {
    const known = this.#knownIn(keyId, period)
    if (known === undefined) return 0
    return this.#now() - known.countedAtMs < recordedAfterMs ? Math.max(known.recorded, known.counted) : known.recorded
  }

  #knownIn (keyId: string, period: Period | undefined): KnownSpending | undefined {
    const known = this.#spent.get(keyId)
    return period !== undefined && known?.period.per === period.per && known.period.fromMs === period.fromMs ? known : undefined
  }
}

function isLimited ({ requestsPerMinute, tokensPerMinute, concurrentCalls, budget }: KeyLimits): boolean {
  return requestsPerMinute !== undefined || tokensPerMinute !== undefined || concurrentCalls !== undefined || budget !== undefined
}
