/**
 * Counts what limited parties use in Redis, for all machines: the script of `coordination/scripts.ts`, with
 * names and types.
 */

import { countedLimits } from '../../schemas/config/counted-limits.ts'
import { dayMs } from '../core/day.ts'
import { lostAfterMs, type RedisServer } from '../coordination/redis-server.ts'
import { CountBatch, type CountedAccount } from './count-batch.ts'
import { partyKey, type Unit } from './call-accounts.ts'
import type {
  AccountRefusal,
  ActualUsage,
  AdmittedDecision,
  Granted,
  RateLimits,
  RateLimitStatus,
  RecordedUsage,
  RefusedDecision,
  ReservationRequest,
  WantedAmounts
} from './reservation.ts'
import {
  amountToReserve,
  mostWanted,
  nameRefusal,
  settledChange,
  wantedOfSum,
  type SumRefusalReason
} from './reservation-rules.ts'
import { counterOf, sumKeysOf, sumsOf, type Counter, type SumKey } from './sum-key.ts'
import type { Period } from './windows.ts'

/** A part of a reservation as Redis has it. */
type RedisPart = Counter & { readonly amount: number }

/** A reservation of one party as Redis has it. */
export interface RedisReservation {
  /** Unlike any other of any process. */
  readonly id: string
  readonly party: string
  readonly parts: readonly RedisPart[]
  readonly isOpen: boolean
}

export interface RedisDecision {
  readonly decision: RefusedDecision | Omit<AdmittedDecision, 'reservation'>
  /** What the call holds, or would. */
  readonly reservation: RedisReservation
  /** What all processes have used of each sum. */
  readonly used: ReadonlyArray<{ readonly sum: SumKey, readonly used: number }>
}

/** What calls used of a sum, by the ids of their usage rows. */
interface RecordedSum {
  readonly sum: SumKey
  readonly recorded: Record<string, number>
}

export interface Leases {
  /**
   * A process that does not renew a lease for so long has crashed: the call is no longer open. Default
   * 30,000.
   */
  readonly leaseMs?: number
  /**
   * Milliseconds after which its part of a sum is released, as the provider may still bill it. Default
   * 600,000: the longest a call takes by default.
   */
  readonly lostAfterMs?: number
}

const defaultLeaseMs = 30_000
/** Sums without an end are kept so long after the last call; then the usage rows say what was used. */
const unusedMs = 400 * dayMs

/** The reply of the script to a reservation. */
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

export class RedisCounters {
  readonly #server: Pick<RedisServer, 'run' | 'now' | 'isCluster'>
  readonly #batch: CountBatch
  /** Processes that have exited, and the sums and parties of which what they held has been released. */
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
   * Reserves everything a call may use in the accounts of one party, or nothing.
   *
   * @param recordedOf returns what the usage ledger says was used
   * @throws Error without a reply: it may be reserved all the same
   */
  async reserve (
    id: string,
    request: ReservationRequest,
    recordedOf: (sum: SumKey) => number = () => 0
  ): Promise<RedisDecision> {
    const { wanted, purpose = 'admit' } = request
    const planned = this.plan(id, request)
    this.#releaseExited(planned)
    // what the script returns
    const reply = (await this.#batch.add(planned.party, {
      kind: 'reserve',
      id,
      accounts: this.#countedAccounts(planned, wanted, recordedOf),
      purpose
    })) as Reply
    const { granted, rateLimits, used } = limitsIn(reply, planned, mostWanted(wanted))
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

  /** Lists the accounts of a reservation as the script counts them. */
  #countedAccounts (
    { parts }: RedisReservation,
    wanted: WantedAmounts,
    recordedOf: (sum: SumKey) => number
  ): CountedAccount[] {
    return parts.map(({ account, amount: takes, sum }): CountedAccount => {
      const { counting, unit, amount } = account
      if (sum === undefined) {
        return counting === 'open' ? { counting, amount } : { counting: 'rate', unit, amount, takes }
      }
      return {
        counting: 'sum',
        key: sum.field,
        unit,
        amount,
        strict: account.strict,
        ...wantedOfSum(account, wanted),
        recorded: recordedOf(sum),
        keep_ms: this.#keepMs(sum.period)
      }
    })
  }

  /**
   * Returns the reservation that a request would become, with all that it wants: one without a reply may be
   * it.
   */
  plan (id: string, { accounts, wanted, purpose = 'admit' }: ReservationRequest): RedisReservation {
    const [first] = accounts
    const most = mostWanted(wanted)
    const nowMs = this.#server.now()
    const parts = accounts.map((account): RedisPart => ({
      ...counterOf(account, nowMs), amount: amountToReserve(account, wanted, most, purpose)
    }))
    return { id, party: first === undefined ? '' : partyKey(first), parts, isOpen: purpose === 'admit' }
  }

  /**
   * Replaces a reservation with the actual usage, unless that has been done. @throws Error without a reply
   */
  async settle (reservation: RedisReservation, { used }: ActualUsage): Promise<void> {
    const { id, party, parts } = reservation
    const accounts = parts.map(({ account, amount, sum }): CountedAccount => {
      if (sum !== undefined) return { counting: 'sum', key: sum.field, used: used[sum.unit] ?? 0 }
      const { counting, unit } = account
      if (counting === 'open') return { counting, amount: account.amount }
      return { counting: 'rate', unit, amount: account.amount, takes: settledChange(account, amount, used) }
    })
    await this.#batch.add(party, { kind: 'settle', id, accounts, leased: isLeased(reservation) })
  }

  /** Ends an open call, but keeps its part of sums reserved. @throws Error without a reply */
  async end ({ id, party }: RedisReservation): Promise<void> {
    await this.#batch.add(party, { kind: 'settle', id, accounts: [], leased: true })
  }

  /**
   * Settles what processes that were killed had reserved for these calls, whoever they were. @throws Error
   * without a reply
   */
  async settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    const sums = new Map<string, RecordedSum>()
    for (const { accounts, used, row } of usages) {
      for (const sum of sumKeysOf(accounts, row.atMs)) {
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

  /** Shows that an open call is still open. @throws Error without a reply */
  async renew ({ id, party, parts, isOpen }: RedisReservation): Promise<void> {
    const accounts = parts.flatMap(({ sum, amount }): CountedAccount[] => (
      sum === undefined
        ? []
        : [{ counting: 'sum', key: sum.field, amount, keep_ms: this.#keepMs(sum.period) }]
    ))
    await this.#batch.add(party, { kind: 'renew', id, accounts, purpose: isOpen ? 'admit' : 'count' })
  }

  /**
   * Releases what these processes held of each party, before its next reservation: the ledger has what their
   * calls used.
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
    const { account, sum } = parts[accountIndex] as RedisPart // the script counts those it was given
    if (sum === undefined) return { accountIndex, reason: countedLimits[account.limit].refusal, waitMs }
    const refused = nameRefusal(account.name, reason as SumRefusalReason) // of a sum
    return { accountIndex, ...refused, endMs: sum.period.endMs }
  }

  #keepMs ({ endMs }: Period): number {
    return endMs === Infinity ? unusedMs : Math.max(0, endMs - this.#server.now()) + dayMs
  }
}

/** Milliseconds between two renewals of leases. */
export const renewEveryMs = defaultLeaseMs / 3

/** Returns true for a call that Redis knows as open; rates need no such knowledge. */
export function isLeased ({ parts }: Pick<RedisReservation, 'parts'>): boolean {
  return parts.some(({ account: { counting } }) => counting !== 'rate')
}

/** Reads what the script replies of each account. @param most what is granted where no sum grants less */
function limitsIn (
  { accounts }: Reply, { parts }: RedisReservation, most: Granted
): Pick<AdmittedDecision, 'granted' | 'rateLimits'> & Pick<RedisDecision, 'used'> {
  const granted: { -readonly [U in Unit]?: number } = { ...most }
  const rateLimits: { -readonly [U in keyof RateLimits]: RateLimitStatus } = {}
  const used: Array<RedisDecision['used'][number]> = []
  for (const [index, { account: { unit, amount: limit }, sum }] of parts.entries()) {
    const { remaining, reset_ms: resetMs, used: usedText, granted: grantedText } = accounts[index] ?? {}
    if (grantedText !== undefined) granted[unit] = Number(grantedText)
    if (remaining !== undefined && resetMs !== undefined) rateLimits[unit] ??= { limit, remaining, resetMs }
    if (sum !== undefined && usedText !== undefined) used.push({ sum, used: Number(usedText) })
  }
  return { granted, rateLimits, used }
}
