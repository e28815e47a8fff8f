/**
 * Counts usage of limited parties in Redis, for all machines: a typed interface to the script in
 * `coordination/scripts.ts`.
 */

import { countedLimits } from '../../schemas/config/counted-limits.ts'
import { dayMs } from '../core/day.ts'
import { lostAfterMs } from '../async/process-name.ts'
import type { RedisServer } from '../coordination/redis-server.ts'
import { CountBatch, type CountedAccount } from './count-batch.ts'
import { counterName, countersOf, sumsOf, type Counter, type SumKey } from './sum-keys.ts'
import type { Unit } from './call-accounts.ts'
import {
  amountToReserve,
  maxRequested,
  requestedOfSum,
  sumRefusal,
  settledChange,
  type AccountRefusal,
  type AdmittedDecision,
  type Granted,
  type RateLimits,
  type RateLimitStatus,
  type RefusedDecision,
  type RequestedAmounts,
  type ReservationRequest,
  type SumRefusalReason,
  type ActualUsage,
  type RecordedUsage
} from './reservation.ts'
import type { Period } from './windows.ts'

/** The amount of a reservation in one Redis counter. */
type RedisPart = Counter & { readonly amount: number }

/** A reservation of one party in Redis. */
export interface RedisReservation {
  /** Unique across all processes. */
  readonly id: string
  readonly party: string
  readonly parts: readonly RedisPart[]
  readonly isOpen: boolean
}

export interface RedisDecision {
  readonly decision: RefusedDecision | Omit<AdmittedDecision, 'reservation'>
  /** What the call has reserved, or would have if admitted. */
  readonly reservation: RedisReservation
  /** Usage of each sum by all processes. */
  readonly used: ReadonlyArray<{ readonly sum: SumKey, readonly used: number }>
}

/** Usage of a sum, by the ids of usage rows. */
interface RecordedSum {
  readonly sum: SumKey
  readonly recorded: Record<string, number>
}

export interface Leases {
  /**
   * Milliseconds without renewal after which a lease expires: the process has crashed and the call is no
   * longer open. Default 30,000.
   */
  readonly leaseMs?: number
  /**
   * Milliseconds after which an expired call's part of a sum is released; until then the provider may still
   * bill it. Default 600,000.
   */
  readonly lostAfterMs?: number
}

const defaultLeaseMs = 30_000
/** How long sums without an end are kept after the last call; later the usage rows are read. */
const unusedMs = 400 * dayMs

/** The script's reply to a reservation. */
interface Reply {
  readonly refusal?: {
    readonly account: number
    readonly reason: SumRefusalReason | 'open' | 'rate'
    readonly wait_ms: number
  }
  readonly accounts: ReadonlyArray<{
    readonly remaining?: number
    readonly reset_ms?: number
    readonly used?: string
    readonly granted?: string
  }>
}

/** Makes the operations of the script from reservations, and decisions from its replies. */
export class RedisCounters {
  readonly #server: Pick<RedisServer, 'run' | 'now' | 'isCluster'>
  readonly #batch: CountBatch
  /** Processes that have exited, and the sums and parties already released. */
  #exited: readonly string[] = []
  #released = new Set<string>()

  constructor (
    server: Pick<RedisServer, 'run' | 'now' | 'isCluster'>,
    { leaseMs = defaultLeaseMs, lostAfterMs: lostMs = lostAfterMs }: Leases = {}
  ) {
    this.#server = server
    this.#batch = new CountBatch(server, leaseMs, lostMs)
  }

  /**
   * Reserves the most a call may use in the accounts of one party, or nothing.
   *
   * @param recordedOf returns the usage in the ledger
   * @throws Error without a reply; the reservation may exist nevertheless
   */
  async reserve (
    id: string,
    request: ReservationRequest,
    recordedOf: (sum: SumKey) => number = () => 0
  ): Promise<RedisDecision> {
    const { wanted, purpose = 'admit' } = request
    const planned = this.plan(id, request)
    this.#releaseExited(planned)
    // the shape that the script returns
    const reply = (await this.#batch.add(planned.party, {
      kind: 'reserve',
      id,
      accounts: this.#countedAccounts(planned, wanted, recordedOf),
      purpose
    })) as Reply
    const { granted, rateLimits, used } = limitsIn(reply, planned, maxRequested(wanted))
    const parts = planned.parts.map(part => ({
      ...part,
      amount: amountToReserve(part.account, wanted, granted, purpose)
    }))
    const left = { rateLimits, used: used.map(sum => sum.used) }
    return {
      used,
      reservation: { ...planned, parts },
      decision: reply.refusal === undefined
        ? { admitted: true, granted, ...left }
        : { admitted: false, ...this.#refusalOf(reply.refusal, planned), ...left }
    }
  }

  /** Lists the accounts of a reservation as the script expects them. */
  #countedAccounts (
    { parts }: RedisReservation,
    wanted: RequestedAmounts,
    recordedOf: (sum: SumKey) => number
  ): CountedAccount[] {
    return parts.map(({ account, amount: takes, sum }): CountedAccount => {
      const { counting, unit, max } = account
      if (sum === undefined) {
        return counting === 'open'
          ? { counting, amount: max }
          : { counting: 'rate', unit, amount: max, takes }
      }
      return {
        counting: 'sum',
        key: sum.field,
        unit,
        amount: max,
        strict: account.strict,
        ...requestedOfSum(account, wanted),
        recorded: recordedOf(sum),
        keep_ms: this.#keepMs(sum.period)
      }
    })
  }

  /**
   * Returns the reservation for a request, with everything it wants. If there is no reply, Redis may have it.
   */
  plan (id: string, { accounts, wanted, purpose = 'admit' }: ReservationRequest): RedisReservation {
    const [first] = accounts
    const most = maxRequested(wanted)
    const parts = countersOf(accounts, this.#server.now()).map((counter): RedisPart => ({
      ...counter, amount: amountToReserve(counter.account, wanted, most, purpose)
    }))
    const party = first === undefined ? '' : counterName(first.party)
    return { id, party, parts, isOpen: purpose === 'admit' }
  }

  /** Replaces a reservation with the actual usage, unless already done. @throws Error without a reply */
  async settle (reservation: RedisReservation, { used }: ActualUsage): Promise<void> {
    const { id, party, parts } = reservation
    const accounts = parts.map(({ account, amount, sum }): CountedAccount => {
      if (sum !== undefined) return { counting: 'sum', key: sum.field, used: used[sum.unit] ?? 0 }
      const { counting, unit } = account
      if (counting === 'open') return { counting, amount: account.max }
      return { counting: 'rate', unit, amount: account.max, takes: settledChange(account, amount, used) }
    })
    await this.#batch.add(party, { kind: 'settle', id, accounts, leased: isLeased(reservation) })
  }

  /** Ends an open call, but keeps its sums reserved. @throws Error without a reply */
  async end ({ id, party }: RedisReservation): Promise<void> {
    await this.#batch.add(party, { kind: 'settle', id, accounts: [], leased: true })
  }

  /**
   * Settles the reservations of killed processes for these calls, whichever process made them. @throws Error
   * without a reply
   */
  async settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    const sums = new Map<string, RecordedSum>()
    for (const { accounts, used, row } of usages) {
      for (const sum of sumsOf(countersOf(accounts, row.atMs))) {
        const known: RecordedSum = sums.get(sum.name) ?? { sum, recorded: {} }
        known.recorded[row.id] = used[sum.unit] ?? 0
        sums.set(sum.name, known)
      }
    }
    await Promise.all([...sums.values()].map(async ({ sum: { party, field }, recorded }) => {
      const accounts = [{ counting: 'sum', key: field, recorded }] as const
      await this.#batch.add(party, { kind: 'record', id: '', accounts })
    }))
  }

  /** Renews the lease of an open call. @throws Error without a reply */
  async renew ({ id, party, parts, isOpen }: RedisReservation): Promise<void> {
    const accounts = parts.flatMap(({ sum, amount }): CountedAccount[] => (
      sum === undefined
        ? []
        : [{ counting: 'sum', key: sum.field, amount, keep_ms: this.#keepMs(sum.period) }]
    ))
    await this.#batch.add(party, { kind: 'renew', id, accounts, purpose: isOpen ? 'admit' : 'count' })
  }

  /**
   * Releases the reservations of these processes at the next reservation of each party: the ledger has their
   * usage by then.
   */
  forget (exited: readonly string[]): void {
    this.#exited = exited
    this.#released = new Set()
  }

  #releaseExited ({ party, parts }: RedisReservation): void {
    if (this.#exited.length === 0) return
    const keys = sumsOf(parts).map(({ field }) => field)
    const name = `${party} ${keys.join(' ')}`
    if (this.#released.has(name)) return
    this.#released.add(name)
    const accounts = keys.map((key): CountedAccount => ({ counting: 'sum', key, used: 0 }))
    for (const process of this.#exited) {
      this.#batch.add(party, { kind: 'forget', id: process, accounts }).catch(() => {
        this.#released.delete(name)
      })
    }
  }

  #refusalOf (
    { account: accountIndex, reason, wait_ms: waitMs }: NonNullable<Reply['refusal']>,
    { parts }: RedisReservation
  ): AccountRefusal {
    const { account, sum } = parts[accountIndex] as RedisPart // the script returns an index of its input
    if (sum === undefined) return { accountIndex, reason: countedLimits[account.limitName].refusal, waitMs }
    const why = reason as SumRefusalReason // only these for a sum
    return { accountIndex, ...sumRefusal(account.name, why, sum.period) }
  }

  #keepMs ({ endMs }: Period): number {
    return endMs === Infinity ? unusedMs : Math.max(0, endMs - this.#server.now()) + dayMs
  }
}

/** Milliseconds between two renewals of a lease. */
export const renewEveryMs = defaultLeaseMs / 3

/** Returns true for a call with a lease in Redis; rates need none. */
export function isLeased ({ parts }: Pick<RedisReservation, 'parts'>): boolean {
  return parts.some(({ account: { counting } }) => counting !== 'rate')
}

/** Reads the limits from the script's reply. @param most what is granted unless a sum grants less */
function limitsIn (
  { accounts }: Reply, { parts }: RedisReservation, most: Granted
): Pick<AdmittedDecision, 'granted' | 'rateLimits'> & Pick<RedisDecision, 'used'> {
  const granted: { -readonly [U in Unit]?: number } = { ...most }
  const rateLimits: { -readonly [U in keyof RateLimits]: RateLimitStatus } = {}
  const used: Array<RedisDecision['used'][number]> = []
  for (const [index, { account: { unit, max: limit }, sum }] of parts.entries()) {
    const { remaining, reset_ms: resetMs, used: usedText, granted: grantedText } = accounts[index] ?? {}
    if (grantedText !== undefined) granted[unit] = Number(grantedText)
    if (remaining !== undefined && resetMs !== undefined) rateLimits[unit] ??= { limit, remaining, resetMs }
    if (sum !== undefined && usedText !== undefined) used.push({ sum, used: Number(usedText) })
  }
  return { granted, rateLimits, used }
}
