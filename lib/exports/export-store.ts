/**
 * Stores which windows of usage have been exported, for all processes on one store: the process that takes a
 * file writes it.
 */

import { sql, type Kysely } from 'kysely'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import type { UsageExport } from '../../schemas/admin/exports.ts'
import type { Database } from '../stores/database.ts'
import type { Tables, UsageExportRow } from '../stores/tables.ts'
import type { TimeRange } from '../core/day.ts'

/** The outcome of an attempt to write a file. */
export type ExportOutcome = Partial<Omit<UsageExportRow, 'target' | 'from_ms' | 'until_ms'>>

export class ExportStore {
  readonly #query: Kysely<Tables>
  /** Returns the time by the clock that all processes share. */
  readonly now: () => number

  constructor ({ query, now }: Pick<Database, 'query' | 'now'>) {
    this.#query = query
    this.now = now
  }

  /** Returns the end of the last window of a target; `undefined` if it has none. */
  async endOf (target: string): Promise<number | undefined> {
    const last = await this.#query.selectFrom('usage_exports').select('until_ms')
      .where('target', '=', target).orderBy('from_ms', 'desc').limit(1).executeTakeFirst()
    return last?.until_ms
  }

  /** Adds a window with the time at which it is due, unless it exists. */
  async add (target: string, { fromMs, untilMs }: TimeRange, atMs: number): Promise<void> {
    const row: UsageExportRow = {
      target, from_ms: fromMs, until_ms: untilMs, state: 'waiting', file: null, revision: 0,
      rows: 0, calls: 0, bytes: 0, sums: null, attempts: 0, next_at_ms: atMs, error: null, written_at_ms: null
    }
    await retryWhenLocked(async () => await this.#query.insertInto('usage_exports').values(row)
      .onConflict(conflict => conflict.doNothing()).execute())
  }

  /** Takes the oldest unwritten window of a target, if it is due. It is due again when the lease ends. */
  async take (target: string, leaseMs: number): Promise<UsageExportRow | undefined> {
    const now = this.now()
    return await retryWhenLocked(async () => await this.#query.updateTable('usage_exports')
      .set({ state: 'writing', next_at_ms: now + leaseMs, attempts: sql`attempts + 1` })
      .where('target', '=', target).where('state', '!=', 'written').where('next_at_ms', '<=', now)
      .where('from_ms', '=', rows => rows.selectFrom('usage_exports as oldest')
        .select(({ fn }) => fn.min('oldest.from_ms').as('from_ms'))
        .where('oldest.target', '=', target).where('oldest.state', '!=', 'written'))
      .returningAll().executeTakeFirst())
  }

  /**
   * Makes the windows of a target whose last attempt failed due immediately, except those that are being
   * written: of two attempts, the one that began first could replace the file of the other.
   */
  async hurry (target: string): Promise<void> {
    await retryWhenLocked(async () => await this.#query.updateTable('usage_exports')
      .set({ next_at_ms: this.now() })
      .where('target', '=', target).where('state', '=', 'waiting').where('error', 'is not', null).execute())
  }

  /** Counts the due windows of a target. */
  async countDue (target: string): Promise<number> {
    const { due } = await this.#query.selectFrom('usage_exports')
      .select(({ fn }) => fn.countAll<number | string>().as('due'))
      .where('target', '=', target).where('state', '!=', 'written').where('next_at_ms', '<=', this.now())
      .executeTakeFirstOrThrow()
    return Number(due)
  }

  /** Returns why the last attempt for a target failed; `undefined` if it succeeded or there is none. */
  async failureOf (target: string): Promise<string | undefined> {
    const row = await this.#query.selectFrom('usage_exports').select('error').where('target', '=', target)
      .where('state', '!=', 'written').where('error', 'is not', null).limit(1).executeTakeFirst()
    return row?.error ?? undefined
  }

  /** Records the outcome of an attempt, unless another process has taken the window since. */
  async finish (
    { target, from_ms: fromMs, attempts }: UsageExportRow,
    outcome: ExportOutcome
  ): Promise<void> {
    await retryWhenLocked(async () => await this.#query.updateTable('usage_exports')
      .set({ state: 'waiting', ...outcome })
      .where('target', '=', target).where('from_ms', '=', fromMs)
      .where('state', '=', 'writing').where('attempts', '=', attempts).execute())
  }

  /** Lists the written windows of a target since a given time, oldest first. */
  async written (target: string, sinceMs: number): Promise<UsageExportRow[]> {
    return await this.#query.selectFrom('usage_exports').selectAll().where('target', '=', target)
      .where('from_ms', '>=', sinceMs).where('state', '=', 'written').orderBy('from_ms').execute()
  }

  /** Makes a window due again. */
  async reopen ({ target, from_ms: fromMs, revision }: UsageExportRow): Promise<void> {
    await retryWhenLocked(async () => await this.#query.updateTable('usage_exports')
      .set({ state: 'waiting', attempts: 0, next_at_ms: this.now() })
      .where('target', '=', target).where('from_ms', '=', fromMs)
      .where('state', '=', 'written').where('revision', '=', revision).execute())
  }

  /** Lists windows, newest first. */
  async list (target: string | undefined, page: PageRequest): Promise<PageOf<UsageExport>> {
    let rows = this.#query.selectFrom('usage_exports').selectAll()
      .where(beyond(page, 'from_ms', 'target', 'desc'))
    if (target !== undefined) rows = rows.where('target', '=', target)
    const found = await rows.orderBy('from_ms', 'desc').orderBy('target', 'desc').limit(page.limit + 1)
      .execute()
    return pageOf(found, page, ({ from_ms: ms, target: id }) => ({ ms, id }), entryOf)
  }

  /** Deletes windows that ended before a given time. */
  async prune (target: string, beforeMs: number): Promise<void> {
    await retryWhenLocked(async () => await this.#query.deleteFrom('usage_exports')
      .where('target', '=', target).where('until_ms', '<', beforeMs).where('state', '=', 'written').execute())
  }
}

function entryOf (row: UsageExportRow): UsageExport {
  const { sums: _, calls: __, next_at_ms: nextAtMs, ...shown } = row
  return row.state === 'written'
    ? { ...shown, state: 'written', next_at_ms: null }
    : { ...shown, state: 'waiting', next_at_ms: nextAtMs }
}
