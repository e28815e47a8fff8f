/** Defines how a usage row adds to sums, in SQL and in memory. */

import { byUnitColumn, type UnitColumn } from '../../schemas/billed-units.ts'
import { dayMs } from '../core/day.ts'
import { bucketSql } from './percentiles.ts'
import type { CallSums, UsageRow } from './tables.ts'

export const hourMs = 60 * 60 * 1000

/** The durations of rollups. */
export const rollupSpans = [hourMs, dayMs] as const

/** The primary key of the table. */
export const rollupKey = ['span_ms', 'from_ms', 'key_id', 'model', 'provider', 'endpoint'] as const

/**
 * Maximum length of a model name in rollups. Callers choose it at providers without a model list, and a
 * PostgreSQL index limits its length.
 */
const maxModelLength = 200

/** The columns of `rollupKey` that come from a row of `usage`, with their SQL. */
export const rollupDimensions = {
  key_id: 'key_id',
  model: `substr(coalesce(model, ''), 1, ${maxModelLength})`,
  provider: "coalesce(provider, '')",
  endpoint: 'endpoint'
} as const

/** Returns the same columns for a row in memory. */
export function dimensionsOf ({ key_id: keyId, model, provider, endpoint }: UsageRow): string[] {
  return [keyId, (model ?? '').slice(0, maxModelLength), provider ?? '', endpoint]
}

/** The columns that are sums. */
export type RollupSum = Exclude<keyof CallSums, 'latencies' | 'first_bytes'>

interface Amount {
  /** SQL on the columns of `usage`. */
  readonly sql: string
  readonly of: (row: UsageRow) => number
}

const reported = (column: UnitColumn | 'cost_nano_usd'): Amount => ({
  sql: `coalesce(${column}, 0)`,
  of: row => row[column] ?? 0
})
const counted = (condition: string, holds: (row: UsageRow) => boolean): Amount => ({
  sql: `case when ${condition} then 1 else 0 end`,
  of: row => (holds(row) ? 1 : 0)
})

/**
 * Which rows add to sums. Model lists, dry runs and other successful calls without a provider request and
 * without cost do not.
 */
export const isSummed = {
  sql: "(attempts > 0 or outcome <> 'ok' or cost_nano_usd <> 0) and endpoint <> 'models'",
  of: ({ attempts, outcome, cost_nano_usd: cost, endpoint }: UsageRow): boolean =>
    (attempts > 0 || outcome !== 'ok' || (cost ?? 0) !== 0) && endpoint !== 'models'
} as const

/**
 * The endpoint for usage at another gateway before its keys were imported. A row is one day of a key and a
 * model, with the number of calls as `attempts`, or spending only; it has no duration.
 */
export const importEndpoint = 'import'
const isImportedDay = `endpoint = '${importEndpoint}' and attempts > 1`

/** The attribution columns of a row. */
export type NamedRow = Pick<UsageRow, 'end_user' | 'session' | 'tags'>

/** Returns true for a row with attribution. Rows of earlier versions may lack the columns. */
export function isNamed ({ end_user: endUser, session, tags }: NamedRow): boolean {
  return (endUser ?? session ?? tags ?? null) !== null
}

/** The amount that a usage row adds to each sum. */
export const amounts: Readonly<Record<RollupSum, Amount>> = {
  calls: {
    sql: `case when ${isImportedDay} then attempts else 1 end`,
    of: ({ endpoint, attempts }) => (endpoint === importEndpoint && attempts > 1 ? attempts : 1)
  },
  errors: counted(
    "outcome in ('error', 'interrupted')",
    ({ outcome }) => outcome === 'error' || outcome === 'interrupted'
  ),
  cancelled: counted(
    "outcome in ('client_closed', 'client_too_slow')",
    ({ outcome }) => outcome === 'client_closed' || outcome === 'client_too_slow'
  ),
  estimated_calls: counted(
    'estimated = 1 and cost_nano_usd > 0',
    ({ estimated, cost_nano_usd: cost }) => estimated === 1 && (cost ?? 0) > 0
  ),
  unpriced_calls: counted('cost_nano_usd is null', ({ cost_nano_usd: cost }) => cost === null),
  ...byUnitColumn(({ column }) => reported(column)),
  cost_nano_usd: reported('cost_nano_usd')
}

export const rollupSums = Object.keys(amounts) as RollupSum[] // keys of `amounts`

/** Durations counted in buckets, by column of `usage`; only those of complete calls. */
export const rollupDurations = { latencies: 'duration_ms', first_bytes: 'first_byte_ms' } as const

/**
 * Returns the SQL for a row's count in its bucket; null if it has none.
 *
 * @param times SQL for how often it counts
 */
export function countSql (
  duration: typeof rollupDurations[keyof typeof rollupDurations],
  times = "'1'"
): string {
  const isTimed = `outcome = 'ok' and endpoint <> '${importEndpoint}' and ${duration} is not null`
  return `case when ${isTimed} then ${bucketSql(duration)} || ':' || ${times} end`
}

/**
 * Returns the SQL for a record's project: the project of its key, or the default one for configured keys.
 * Mirrored calls, which copy calls of any project, belong to a separate project that no member sees.
 *
 * @param record the name of a row with `endpoint` and `key_id`
 */
export function projectSql (record: string): string {
  return `case when ${record}.endpoint = 'mirror' then 'mirror' else coalesce((select project_id from keys where keys.id = ${record}.key_id), 'default') end`
}
