/**
 * Lets gateways on one store share a budget, such as the old and the new one during a rolling restart.
 *
 * Each gateway that has keys with budgets writes a heartbeat to the store once a second. While there are
 * peers, a reservation is a store transaction that reads what all gateways have spent and reserved, and
 * writes what this one has reserved. Without peers a gateway reserves in memory, which is a hundred times
 * faster.
 *
 * A gateway that stalls, because it was busy or suspended, must not let a budget be spent twice:
 * - its reservations count until it has closed or its process has exited, and its usage rows are stored;
 *   missed heartbeats do not release them. Its spending counts until it is recorded;
 * - it looks for peers before it reserves in memory, unless it did so within the last 1.5 heartbeats;
 * - a gateway that joins waits until all others have seen it and written their reservations.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { isSummedUnit, usedBetweenStatement } from '../usage/spending.ts'
import { hasRunSince, lostAfterMs, processName, processState } from '../async/process-name.ts'
import { recordedRows } from '../stores/sqlite/recorded-rows.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import type { SqliteDatabase } from '../stores/database.ts'
import type { Statement } from '../stores/sqlite/statement-cache.ts'
import { UnrecordedSpending } from './unrecorded-spending.ts'
import type { ActualUsage } from './reservation.ts'
import { heldSumName, heldSumOf, type HeldSum, type Holding, type SumKey } from './sum-keys.ts'

/** The state of a sum across all gateways on the store. */
export interface SharedSum {
  readonly sum: SumKey
  /** From the usage rows of all gateways. */
  readonly recorded: number
  /** Amounts that other gateways have reserved. */
  readonly reserved: number
  /** Amounts this gateway used that may not be recorded yet. */
  readonly recent: number
}

export interface BudgetPeersOptions {
  /** Lists what this gateway has reserved. */
  readonly holdings: () => Iterable<Holding>
  /** Called when the store cannot be used: this gateway then counts its budgets alone. */
  readonly onFailure: (error: unknown) => void
  readonly now: () => number
  /** Returns true while usage rows of closed or exited gateways are waiting to be stored. Default: never. */
  readonly hasUnrecorded?: () => boolean
  /** Heartbeat interval in milliseconds. Default 1000. */
  readonly beatMs?: number
}

const defaultBeatMs = 1000
/** Heartbeats that a joining gateway waits for a peer that does not respond. */
const maxMissedBeats = 10
/** Usage is recorded half a second after a call unless the store is busy. Before that it counts twice. */
const recordedAfterBeats = 1

/** Heartbeat time of a gateway that has closed and whose records are waiting to be stored. */
const closedMs = 0

interface SeenGateway {
  readonly id: string
  readonly seen_ms: number
}

type Prepare = (sql: string) => Statement

/** A store that gateways may share. */
export type SharedStore = Pick<SqliteDatabase, 'query' | 'write'>

/** This gateway among those on the store: its heartbeat, what it holds, and whether there are others. */
export class BudgetPeers {
  readonly #database: SharedStore
  readonly #options: Required<BudgetPeersOptions>
  readonly #id = processName()
  #timer: NodeJS.Timeout | undefined
  #ready: Promise<void> | undefined
  #isReady = false
  /** True once it was ready, even while it joins again. */
  #hasJoined = false
  #isClosed = false
  #hasPeers = false
  /** When peers were last looked for, whether or not the store could be read. */
  #lookedAtMs = -Infinity
  readonly #unrecorded = new UnrecordedSpending()

  constructor (database: SharedStore, options: BudgetPeersOptions) {
    this.#database = database
    this.#options = { beatMs: defaultBeatMs, hasUnrecorded: () => false, ...options }
  }

  /** Returns true while another gateway uses the store. Queries the store unless it did so recently. */
  isShared (): boolean {
    if (!this.#hasPeers && performance.now() - this.#lookedAtMs > 1.5 * this.#options.beatMs) {
      this.#attempt(() => this.#beat())
    }
    return this.#hasPeers
  }

  /**
   * Announces this gateway to its peers; `undefined` once they know it. With peers this takes one of their
   * heartbeats. Also resolves when the store cannot be used, after calling `onFailure`.
   */
  ready (): Promise<void> | undefined {
    return this.#isReady ? undefined : this.#ready ??= this.#join()
  }

  /**
   * Runs `reserve` with the totals of all gateways, in a transaction that keeps the others from reserving.
   *
   * @param reserve returns what this gateway then has reserved of each sum
   * @throws errors of the store
   */
  reserve (sums: readonly SumKey[], reserve: (found: readonly SharedSum[]) => (sum: SumKey) => number): void {
    this.#database.write(prepare => {
      const found = sums.map((sum): SharedSum => {
        const name = holdingName(sum)
        const { reserved } = prepare(readReserved).get(this.#id, name, sum.period.fromMs) as {
          reserved: number
        }
        return {
          sum,
          recorded: this.#recordedOf(prepare, sum),
          reserved,
          recent: this.#unrecorded.of(heldSumOf(sum))
        }
      })
      const own = reserve(found)
      for (const { sum, recent } of found) {
        prepare(writeHolding).run(this.#id, holdingName(sum), sum.period.fromMs, own(sum) + recent)
      }
    })
  }

  #recordedOf (prepare: Prepare, { party, unit, period }: SumKey): number {
    if (!isSummedUnit(unit)) return 0
    const { sql, parameters } = usedBetweenStatement(unit, party, period.fromMs, period.endMs)
    return (prepare(sql).get(...parameters) as { used: number }).used
  }

  /**
   * Adds what a call has used; peers count it from here until it is recorded. A refund counts only once it is
   * recorded.
   */
  noteUsed (sums: readonly SumKey[], { used, row }: ActualUsage): void {
    if (!this.#hasJoined) return
    const held = new Map(sums.map(heldSumOf).map(sum => [heldSumName(sum), sum]))
    for (const sum of held.values()) {
      const amount = used[sum.unit] ?? 0
      if (amount > 0) this.#unrecorded.add({ ...sum, amount }, row)
    }
  }

  /**
   * Tells peers that this gateway has closed. Its spending stays until its records are stored; peers remove
   * it then.
   */
  close (): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#timer)
    if (this.#ready === undefined) return
    this.#attempt(() => {
      const hasUnrecorded = this.#options.hasUnrecorded()
      this.#database.write(prepare => {
        if (hasUnrecorded) {
          this.#showHoldings(prepare)
          prepare(markClosed).run(this.#id, closedMs)
        } else {
          drop(prepare, this.#id)
        }
      })
    })
  }

  async #join (): Promise<void> {
    const { beatMs } = this.#options
    this.#timer ??= setInterval(() => {
      void this.#forgetRecorded()
      void this.#beatOnceUnlocked()
    }, beatMs).unref()
    try {
      await retryWhenLocked(async () => this.#beat())
      const joinedAt = await retryWhenLocked(async () => this.#othersSeen())
      for (let waited = 0; this.#hasPeers && waited < maxMissedBeats; waited += 0.25) {
        const seen = await retryWhenLocked(async () => this.#othersSeen())
        if ([...joinedAt].every(([id, seenMs]) => seen.get(id) !== seenMs)) break
        await sleep(beatMs / 4)
      }
      this.#isReady = true
      this.#hasJoined = true
    } catch (error) {
      this.#ready = undefined // peers may have forgotten this gateway: the next call joins again
      if (!this.#isClosed) this.#options.onFailure(error)
    }
  }

  /** Returns the last heartbeat of each peer that may still be open. @throws errors of the store */
  #othersSeen (): Map<string, number> {
    return this.#database.write(prepare => {
      const others = prepare('select id, seen_ms from gateways where id <> ? and seen_ms > ?').all(
        this.#id,
        closedMs
      ) as SeenGateway[]
      return new Map(
        others
          .filter(({ id }) => processState(id) !== 'exited')
          .map(({ id, seen_ms: seenMs }) => [id, seenMs])
      )
    })
  }

  /** @throws errors of the store */
  #beat (): void {
    if (this.#isClosed) return
    const { now } = this.#options
    this.#lookedAtMs = performance.now()
    this.#database.write(prepare => {
      const isKnown = prepare('update gateways set seen_ms = ? where id = ?').run(now(), this.#id).changes > 0
      if (!isKnown) prepare('insert into gateways (id, seen_ms) values (?, ?)').run(this.#id, now())
      this.#dropGone(prepare)
      this.#hasPeers = prepare('select 1 from gateways where id <> ? limit 1').get(this.#id) !== undefined
      if (!this.#hasPeers) {
        prepare(dropHoldings).run(this.#id)
        return
      }
      if (!isKnown && this.#isReady) this.#rejoin()
      this.#showHoldings(prepare)
    })
  }

  #showHoldings (prepare: Prepare): void {
    prepare(dropHoldings).run(this.#id)
    const held = new Map<string, Holding>()
    for (const holding of this.#options.holdings()) {
      const name = heldSumName(holding)
      if (holding.amount > (held.get(name)?.amount ?? 0)) held.set(name, holding)
    }
    for (const holding of [...held.values(), ...this.#unrecorded.sums()]) {
      prepare(addHolding).run(this.#id, holdingName(holding), holding.fromMs, holding.amount)
    }
  }

  /** Removes recorded usage; unrecorded usage keeps counting. */
  async #forgetRecorded (): Promise<void> {
    try {
      await this.#unrecorded.forgetRecorded(
        performance.now() - recordedAfterBeats * this.#options.beatMs,
        rows => recordedRows(this.#database.query, rows)
      )
    } catch (error) {
      if (!this.#isClosed) this.#options.onFailure(error)
    }
  }

  /** Waits for the peers again before the next reservation: they assumed that this gateway had exited. */
  #rejoin (): void {
    this.#isReady = false
    this.#ready = undefined
  }

  #dropGone (prepare: Prepare): void {
    const others = prepare('select id, seen_ms from gateways where id <> ?').all(this.#id) as SeenGateway[]
    for (const { id, seen_ms: seenMs } of others) {
      if (!this.#mayStillSpend(id, seenMs)) drop(prepare, id)
    }
  }

  /**
   * Returns true until the gateway has exited and its records are stored. A suspended process counts as
   * running.
   */
  #mayStillSpend (id: string, seenMs: number): boolean {
    const { now, hasUnrecorded } = this.#options
    if (seenMs === closedMs) return hasUnrecorded()
    const state = processState(id)
    if (state === 'own') return true
    if (state === 'exited') return hasUnrecorded()
    return seenMs >= now() - lostAfterMs || hasRunSince(id, seenMs)
  }

  /** Runs work that can wait for the next heartbeat if the store is locked. */
  #attempt (work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#options.onFailure(error)
    }
  }

  /** Peers depend on the heartbeat, so it is retried while another process has the store locked. */
  async #beatOnceUnlocked (): Promise<void> {
    try {
      await retryWhenLocked(async () => this.#beat(), this.#options.beatMs / 2)
    } catch (error) {
      this.#options.onFailure(error)
    }
  }
}

/** Names the key of a row in `holdings`; for money it is the party alone. */
function holdingName ({ party, unit }: Pick<HeldSum, 'party' | 'unit'>): string {
  return unit === 'nanoUsd' ? party : `${unit} ${party}`
}

const readReserved =
  'select coalesce(sum(nano_usd), 0) as reserved from holdings where gateway_id <> ? and key_id = ? and from_ms = ?'
const writeHolding = `insert into holdings (gateway_id, key_id, from_ms, nano_usd) values (?, ?, ?, ?)
  on conflict (gateway_id, key_id, from_ms) do update set nano_usd = excluded.nano_usd`
const addHolding = `insert into holdings (gateway_id, key_id, from_ms, nano_usd) values (?, ?, ?, ?)
  on conflict (gateway_id, key_id, from_ms) do update set nano_usd = holdings.nano_usd + excluded.nano_usd`
const markClosed =
  'insert into gateways (id, seen_ms) values (?, ?) on conflict (id) do update set seen_ms = excluded.seen_ms'
const dropHoldings = 'delete from holdings where gateway_id = ?'
const dropGateway = 'delete from gateways where id = ?'

function drop (prepare: Prepare, id: string): void {
  prepare(dropHoldings).run(id)
  prepare(dropGateway).run(id)
}
