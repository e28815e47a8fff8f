import { setImmediate as immediate } from 'node:timers/promises'
import { sql, type Kysely } from 'kysely'
import { dayMs, monthOf } from '../core/day.ts'
import { attributionNames } from '../../schemas/admin/usage.ts'
import type { Retention } from './database.ts'
import { nameRollupKey, rollupKinds } from './name-rollups.ts'
import type { Tables } from './tables.ts'
import { rollupKey, rollupSpans } from './usage-rollups.ts'

/** Rows per step: a few milliseconds. */
const stepRows = 500

/** Rows of a table in order of their start. */
interface Series {
  readonly table: 'usage_rollups' | 'name_rollups' | 'counted_names'
  readonly key: readonly string[]
  /** The first column of its key, and its value. */
  readonly column: string
  readonly value: string | number
}

/**
 * Deletes the oldest rollups in small steps: those beyond the retention of records by age, or more than their
 * maximum per duration. Rollups of records deleted because of their number are kept. Sums by name are deleted
 * with those of their days.
 */
export async function pruneRollups (
  query: Kysely<Tables>,
  { keepDays, keepRows }: Retention,
  nowMs: number
): Promise<void> {
  let untilMs = -1
  for (const spanMs of rollupSpans) {
    const series = { table: 'usage_rollups', key: rollupKey, column: 'span_ms', value: spanMs } as const
    untilMs = Math.max(nowMs - keepDays * dayMs - spanMs, await firstTooMany(query, series, keepRows))
    await pruneSeries(query, series, untilMs)
  }
  for (const value of rollupKinds) {
    const series = { table: 'name_rollups', key: nameRollupKey, column: 'kind', value } as const
    await pruneSeries(query, series, untilMs)
  }
  for (const value of attributionNames) {
    const key = ['kind', 'from_ms', 'project_id', 'name']
    await pruneSeries(query, { table: 'counted_names', key, column: 'kind', value }, monthOf(untilMs) - 1)
  }
}

/** Returns the start of the newest surplus rollup; -1 if there is none. */
async function firstTooMany (
  query: Kysely<Tables>,
  { table, column, value }: Series,
  keepRows: number
): Promise<number> {
  const { rows: [row] } = await sql<{ from_ms: number }>`
    select from_ms from ${sql.table(table)} where ${sql.ref(column)} = ${value}
    order by from_ms desc limit 1 offset ${sql.lit(keepRows)}`.execute(query)
  return row?.from_ms ?? -1
}

async function pruneSeries (
  query: Kysely<Tables>,
  { table, key, column, value }: Series,
  untilMs: number
): Promise<void> {
  const columns = sql.join(key.map(name => sql.ref(name)))
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where (${columns}) in (
        select ${columns} from ${sql.table(table)}
        where ${sql.ref(column)} = ${value} and from_ms <= ${untilMs}
        order by from_ms limit ${sql.lit(stepRows)}
      )`.execute(query)
    if (numAffectedRows === undefined || numAffectedRows < BigInt(stepRows)) return
    await immediate()
  }
}
