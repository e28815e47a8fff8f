/**
 * Lets gateways on one store share a budget, such as the old and the new one of a rolling restart.
 *
 * Each gateway that has keys with budgets shows itself in the store once a second. While there is another, a
 * reservation is a transaction of the store that reads what all have spent and hold, and writes what this one
 * holds. A gateway that is alone reserves in memory: that takes a hundredth of the time.
 *
 * A gateway that is late, such as one that was busy or stopped for a while, must not make two budgets of one:
 *
 * - what it holds counts until it has closed, or its process has exited, and its usage rows are stored,
 *   not until it has missed some beats; and what it has spent counts until that is recorded;
 * - it looks for others before it reserves in memory, unless it has done so in the last 1.5 beats;
 * - a gateway that joins waits until all others have seen it and shown what they hold.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { isSummed, usedSinceStatement } from '../usage/spending.ts'
import { hasRunSince, processName, processState } from '../async/process-name.ts'
import { recordedRows } from '../stores/sqlite/recorded-rows.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import type { SqliteDatabase } from '../stores/database.ts'
import type { Statement } from '../stores/sqlite/statement-cache.ts'
import { UnrecordedSpending } from './unrecorded-spending.ts'
import type { ActualUsage } from './reservation.ts'
import { heldSumName, heldSumOf, type HeldSum, type Holding, type SumKey } from './sum-key.ts'

/** The state of a sum in the store. */
export interface SharedSum {
  readonly sum: SumKey
  /** As the usage rows of all gateways have it. */
  readonly recorded: number
  /** Amounts that other gateways hold. */
  readonly reserved: number
  /** Amounts this one used that may not be recorded yet. */
  readonly recent: number
}

export interface BudgetPeersOptions {
  /** Lists what this gateway has reserved. */
  readonly holdings: () => Iterable<Holding>
  /** Called when the store cannot be used: budgets are then this gateway's own. */
  readonly onFailure: (error: unknown) => void
  readonly now: () => number
  /**
   * Returns true while usage rows of gateways that have closed or exited wait to be stored. Default: none
   * do.
   */
  readonly hasUnrecorded?: () => boolean
  /** Milliseconds between two signs of life. Default 1000. */
  readonly beatMs?: number
}

const defaultBeatMs = 1000
/** Signs of life for which a gateway that joins waits for another one that does not respond. */
const maxMissedBeats = 10
/**
 * Milliseconds without a heartbeat after which a peer is considered dead if nothing else is known about it,
 * such as a peer in another container: the longest duration of a call by default.
 */
const lostAfterMs = 600_000
/**
 * Usage records are in the store half a second after a call, unless it is busy: they are looked for from then
 * on, as until then they count twice.
 */
const recordedAfterBeats = 1

/** Stands for the last sign of life of a gateway that has closed and whose records wait to be stored. */
const closedMs = 0

interface SeenGateway {
  readonly id: string
  readonly seen_ms: number
}

type Prepare = (sql: string) => Statement

/** The store that gateways may share. */
export type SharedStore = Pick<SqliteDatabase, 'query' | 'write'>

export class BudgetPeers {
  readonly #database: SharedStore
  readonly #options: Required<BudgetPeersOptions>
  readonly #id = processName()
  #timer: NodeJS.Timeout | undefined
  #ready: Promise<void> | undefined
  #isReady = false
  #isClosed = false
  #shared = false
  /** The time of the last look for others, also if the store could not be used. */
  #lookedAtMs = -Infinity
  readonly #unrecorded = new UnrecordedSpending()

  constructor (database: SharedStore, options: BudgetPeersOptions) {
    this.#database = database
    this.#options = { beatMs: defaultBeatMs, hasUnrecorded: () => false, ...options }
  }

  /** Returns true while another gateway uses the store: looks for one unless that has just been done. */
  isShared (): boolean {
    if (!this.#shared && performance.now() - this.#lookedAtMs > 1.5 * this.#options.beatMs) {
      this.#attempt(() => this.#beat())
    }
    return this.#shared
  }

  /**
   * Shows this gateway to others; `undefined` once they know of it. Where there are some, that takes one of
   * their beats. Ends as well when the store cannot be used: `onFailure` has been called then.
   */
  ready (): Promise<void> | undefined {
    return this.#isReady ? undefined : this.#ready ??= this.#join()
  }

  /**
   * Runs `reserve` with what all gateways have used and hold of sums, while none of them can reserve.
   *
   * @param reserve returns what this gateway holds of each after it
   * @throws those of the store
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
    if (!isSummed(unit)) return 0
    const { sql, parameters } = usedSinceStatement(unit, party, period.fromMs, period.endMs)
    return (prepare(sql).get(...parameters) as { used: number }).used
  }

  /**
   * Notes what a call has used of sums: until it is recorded, others know of it from here. A refund counts
   * once it is recorded, and only there.
   */
  noteUsed (sums: readonly SumKey[], { used, row }: ActualUsage): void {
    if (!this.#isReady) return
    const held = new Map(sums.map(heldSumOf).map(sum => [heldSumName(sum), sum]))
    for (const sum of held.values()) {
      const amount = used[sum.unit] ?? 0
      if (amount > 0) this.#unrecorded.add({ ...sum, amount }, row)
    }
  }

  /**
   * Notifies the other gateways that this one is gone. What it has spent stays while its records wait to be
   * stored: others drop it then.
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
      for (let waited = 0; this.#shared && waited < maxMissedBeats; waited += 0.25) {
        const seen = await retryWhenLocked(async () => this.#othersSeen())
        if ([...joinedAt].every(([id, seenMs]) => seen.get(id) !== seenMs)) break
        await sleep(beatMs / 4)
      }
      this.#isReady = true
    } catch (error) {
      this.#ready = undefined // others may not know of it: the next call joins again
      if (!this.#isClosed) this.#options.onFailure(error)
    }
  }

  /**
   * Returns when each other gateway that may be open showed itself the last time. @throws those of the store
   */
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

  /** @throws those of the store */
  #beat (): void {
    if (this.#isClosed) return
    const { now } = this.#options
    this.#lookedAtMs = performance.now()
    this.#database.write(prepare => {
      const isKnown = prepare('update gateways set seen_ms = ? where id = ?').run(now(), this.#id).changes > 0
      if (!isKnown) prepare('insert into gateways (id, seen_ms) values (?, ?)').run(this.#id, now())
      this.#dropGone(prepare)
      this.#shared = prepare('select 1 from gateways where id <> ? limit 1').get(this.#id) !== undefined
      if (!this.#shared) {
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

  /** Forgets recorded usage; unrecorded usage counts until it is recorded. */
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

  /** Returns true while a gateway runs, though it may be stopped, and then until its records are stored. */
  #mayStillSpend (id: string, seenMs: number): boolean {
    const { now, hasUnrecorded } = this.#options
    if (seenMs === closedMs) return hasUnrecorded()
    const state = processState(id)
    if (state === 'own') return true
    if (state === 'exited') return hasUnrecorded()
    return seenMs >= now() - lostAfterMs || hasRunSince(id, seenMs)
  }

  /** Does what can wait for the next beat when the store is locked. */
  #attempt (work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#options.onFailure(error)
    }
  }

  /** Others rely on the beat: while a process writes to the store, which locks it, it is tried again. */
  async #beatOnceUnlocked (): Promise<void> {
    try {
      await retryWhenLocked(async () => this.#beat(), this.#options.beatMs / 2)
    } catch (error) {
      this.#options.onFailure(error)
    }
  }
}

/** Names what a row of `holdings` is held of: money by its party alone. */
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
