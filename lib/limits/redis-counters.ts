/** Counts what limited keys use in Redis, for all machines: the scripts of `coordination/scripts.ts`, with names and types. */

import { nanoUsdOf, type KeyLimits, type Limit } from '../core/key.ts'
import { lostAfterMs, type RedisServer } from '../coordination/redis-server.ts'
import { CountBatch, type CountKeys } from './count-batch.ts'
import type { Period } from './budget.ts'
import type { ActualUsage, LimitDecision, RateLimits, ReservationRequest } from './counters.ts'

/** A reservation as Redis has it. */
export interface RedisReservation {
  /** Unlike any other of any process. */
  readonly id: string
  readonly keyId: string
  readonly limits: KeyLimits
  readonly period: Period | undefined
  /** The tokens and the amount that were reserved. */
  readonly tokens: number
  readonly nanoUsd: number
}

export interface RedisDecision {
  readonly decision: Exclude<LimitDecision, { readonly admitted: true }> | Omit<Extract<LimitDecision, { readonly admitted: true }>, 'reservation'>
  /** Billionths of a dollar, of all processes. */
  readonly spent: number
}

export interface Leases {
  /** A process that does not renew a lease for so long has crashed: the call is no longer open. Default 30,000. */
  readonly leaseMs?: number
  /**
   * Milliseconds after which its part of a budget is released, as the provider may still bill it. Default 600,000: the longest a call
   * takes by default.
   */
  readonly lostAfterMs?: number
}

const defaultLeaseMs = 30_000
const dayMs = 86_400_000
/** Budgets without an end are kept so long after the last call; then the usage records say what was spent. */
const unusedMs = 400 * dayMs

export class RedisCounters {
  readonly #server: Pick<RedisServer, 'run' | 'now' | 'isCluster'>
  readonly #batch: CountBatch
  readonly #leases: readonly [leaseMs: number, lostAfterMs: number]
  /** Processes that have exited, and where what they held has been released. */
  #exited: readonly string[] = []
  #released = new Set<string>()

  constructor (server: Pick<RedisServer, 'run' | 'now' | 'isCluster'>, { leaseMs = defaultLeaseMs, lostAfterMs: lostMs = lostAfterMs }: Leases = {}) {
    this.#server = server
    this.#leases = [leaseMs, lostMs]
    this.#batch = new CountBatch(server, ...this.#leases)
  }

  /**
   * Reserves everything a call may use, or nothing.
   *
   * @param recorded what the usage ledger says was spent
   * @throws Error without a reply: it may be reserved all the same
   */
  async reserve (id: string, { keyId, limits, tokens, nanoUsd, minNanoUsd = nanoUsd, alreadyAdmitted = false }: ReservationRequest, period: Period | undefined, recorded: number): Promise<RedisDecision> {
    const { requestsPerMinute = 0, tokensPerMinute = 0, concurrentCalls = 0, budget } = limits
    this.#releaseExited(keysOf(keyId, period))
    const reply = await this.#batch.add(keysOf(keyId, period), [
      'reserve', id, requestsPerMinute, tokensPerMinute, concurrentCalls, budget === undefined ? 0 : nanoUsdOf(budget),
      tokens, nanoUsd, minNanoUsd, recorded, alreadyAdmitted, this.#keepMs(period)
    ])
    const [reason, waitMs, granted, requestsLeft, requestsResetMs, tokensLeft, tokensResetMs, spent] = reply as Reply // what the script returns
    const rateLimits: RateLimits = {
      ...requestsPerMinute > 0 && { requests: { limit: requestsPerMinute, remaining: requestsLeft, resetMs: requestsResetMs } },
      ...tokensPerMinute > 0 && { tokens: { limit: tokensPerMinute, remaining: tokensLeft, resetMs: tokensResetMs } }
    }
    return { spent, decision: reason === '' ? { admitted: true, nanoUsd: granted, rateLimits } : { admitted: false, reason, waitMs, rateLimits } }
  }

  /** Replaces a reservation with the actual usage, unless that has been done. @throws Error without a reply */
  async settle (reservation: RedisReservation, { tokens, nanoUsd, moreRequests = 0 }: ActualUsage): Promise<void> {
    const { id, keyId, limits, period } = reservation
    await this.#batch.add(keysOf(keyId, period), [
      'settle', id, limits.requestsPerMinute ?? 0, limits.tokensPerMinute ?? 0, moreRequests, tokens - reservation.tokens, nanoUsd, isLeased(reservation)
    ])
  }

  /** Shows that open calls of one key and period are still open. @throws Error without a reply */
  async renew (reservations: readonly [RedisReservation, ...RedisReservation[]]): Promise<void> {
    const [{ keyId, period }] = reservations
    const reserved = reservations.flatMap(({ id, nanoUsd }) => [id, period === undefined ? '' : nanoUsd])
    await this.#server.run('hgRenew', keysOf(keyId, period), [...this.#leases, this.#keepMs(period), ...reserved])
  }

  /** Releases what these processes held of each key, before its next reservation: the ledger has what their calls cost. */
  forget (exited: readonly string[]): void {
    this.#exited = exited
    this.#released = new Set()
  }

  #releaseExited (keys: CountKeys): void {
    const [, , name] = keys // of a key and a period
    if (this.#exited.length === 0 || this.#released.has(name)) return
    this.#released.add(name)
    for (const process of this.#exited) this.#batch.add(keys, ['forget', process]).catch(() => { this.#released.delete(name) })
  }

  #keepMs (period: Period | undefined): number {
    return period === undefined || period.endMs === Infinity ? unusedMs : Math.max(0, period.endMs - this.#server.now()) + dayMs
  }
}

/** Milliseconds between two renewals of leases. */
export const renewEveryMs = defaultLeaseMs / 3

/** Returns true for a call that Redis knows as open; rates need no such knowledge. */
export function isLeased ({ limits, period }: Pick<RedisReservation, 'limits' | 'period'>): boolean {
  return limits.concurrentCalls !== undefined || period !== undefined
}

type Reply = readonly [
  reason: Limit | '', waitMs: number, granted: number, requestsLeft: number, requestsResetMs: number,
  tokensLeft: number, tokensResetMs: number, spent: number
]

/** Returns the keys of Redis for one key of the gateway: the braces put them into one place of a cluster. */
function keysOf (keyId: string, period: Period | undefined): CountKeys {
  const name = `headgate:{${keyId}}`
  const of = period === undefined ? 'none' : `${period.per}:${period.fromMs}`
  return [`${name}:rates`, `${name}:open`, `${name}:budget:${of}`, `${name}:leases:${of}`]
}
