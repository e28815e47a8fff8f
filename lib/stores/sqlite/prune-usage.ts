/** Limits the ledger to an age and a number of rows, step by step. */

import { setImmediate as immediate } from 'node:timers/promises'
import { sql, type Kysely } from 'kysely'
import { dayMs } from '../../core/day.ts'
import type { Retention } from '../database.ts'
import type { Tables } from '../tables.ts'
import { hourMs, type rollupSpans } from '../usage-rollups.ts'

/** Rows per step: a few milliseconds. */
const stepRows = 500
/** Rows that a step skips, which is faster than deleting. */
const passedRows = 5000

type Query = Kysely<Tables>

/** Deletes the oldest rows. Budgets do not need them, because their cost is in `spending`. */
export async function pruneUsage (
  query: Query,
  { keepDays, keepRows }: Retention,
  nowMs: number
): Promise<void> {
  const untilMs = Math.max(nowMs - keepDays * dayMs, (await oldestKeptMs(query, keepRows)) ?? -Infinity)
  for (;;) {
    const oldest = await query.selectFrom('usage').select('at_ms').where('at_ms', '<', untilMs)
      .orderBy('at_ms').limit(stepRows).execute()
    const last = oldest.at(-1)
    if (last === undefined) return
    await query.deleteFrom('usage').where('at_ms', '<=', last.at_ms).execute()
    await immediate()
  }
}

/** A time, and the number of rows before it to keep. */
interface Cutoff {
  readonly untilMs: number
  readonly keepRows: number
}

/** An hour or a day, and its calls. */
interface Span extends Cutoff {
  readonly fromMs: number
  readonly calls: number
}

/**
 * Returns the time of the oldest of the newest `keepRows` rows; `undefined` if there are fewer. Sums by day,
 * then by hour, narrow the search, because skipping a million rows takes a tenth of a second.
 *
 * Sums include deleted rows, so after `keep_rows` was raised they may point to an hour without rows. Then
 * nothing is deleted.
 */
async function oldestKeptMs (query: Query, keepRows: number): Promise<number | undefined> {
  const now = { untilMs: Number.MAX_SAFE_INTEGER, keepRows }
  const days = await spansOf(query, dayMs, now)
  const hours = days && await spansOf(query, hourMs, days.newer ?? now)
  if (hours === undefined) return undefined
  const { newer, oldest } = hours
  if (newer !== undefined && await passRows(query, newer, newer.calls) === undefined) return undefined
  return await passRows(query, oldest, oldest.keepRows)
}

/**
 * Searches backwards for the span in which a number of calls is reached. @returns that span and the next one
 */
async function spansOf (
  query: Query,
  spanMs: (typeof rollupSpans)[number],
  from: Cutoff
): Promise<{ readonly oldest: Span, readonly newer: Span | undefined } | undefined> {
  let newer: Span | undefined
  for (let cutoff = from; ;) {
    const sum = await query
      .selectFrom('usage_rollups')
      .select(({ fn }) => ['from_ms', fn.sum<number>('calls').as('calls')])
      .where('span_ms', '=', spanMs)
      .where('from_ms', '<', cutoff.untilMs)
      .groupBy('from_ms')
      .orderBy('from_ms', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (sum === undefined) return undefined
    const { from_ms: fromMs, calls } = sum
    const span = { ...cutoff, fromMs, calls }
    if (calls >= cutoff.keepRows) return { oldest: span, newer }
    newer = span
    cutoff = { untilMs: fromMs, keepRows: cutoff.keepRows - calls }
    await immediate()
  }
}

/**
 * Skips rows of a span, newest first. @returns the time of the last skipped row; `undefined` if there are
 * fewer
 */
async function passRows (
  query: Query,
  { fromMs, untilMs }: Span,
  count: number
): Promise<number | undefined> {
  let last = { at_ms: untilMs, id: '' }
  for (let left = count; left > 0; left -= passedRows) {
    const row = await query
      .selectFrom('usage')
      .select(['at_ms', 'id'])
      .where('at_ms', '>=', fromMs)
      .where(sql<boolean>`(at_ms, id) < (${last.at_ms}, ${last.id})`)
      .orderBy('at_ms', 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(Math.min(left, passedRows) - 1)
      .executeTakeFirst()
    if (row === undefined) return undefined
    last = row
    await immediate()
  }
  return last.at_ms
}
