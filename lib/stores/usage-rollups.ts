/** Says what of a usage row adds up in sums: in SQL, and for a row in memory. */

import { byUnitColumn, type UnitColumn } from '../../schemas/billed-units.ts'
import { dayMs } from '../core/day.ts'
import { bucketSql } from './percentiles.ts'
import type { CallSums, UsageRow } from './tables.ts'

export const hourMs = 60 * 60 * 1000

/** The spans of rollups. */
export const rollupSpans = [hourMs, dayMs] as const

/** The columns that distinguish rollups: the primary key of the table. */
export const rollupKey = ['span_ms', 'from_ms', 'key_id', 'model', 'provider', 'endpoint'] as const

/**
 * Longest name of a model there. Callers choose it with providers that list no models, and an index of
 * PostgreSQL takes no long one.
 */
const maxModelLength = 200

/** The columns of `rollupKey` that a row of `usage` has, with their SQL. */
export const rollupDimensions = {
  key_id: 'key_id',
  model: `substr(coalesce(model, ''), 1, ${maxModelLength})`,
  provider: "coalesce(provider, '')",
  endpoint: 'endpoint'
} as const

/** Returns what they are for a row in memory. */
export function dimensionsOf ({ key_id: keyId, model, provider, endpoint }: UsageRow): string[] {
  return [keyId, (model ?? '').slice(0, maxModelLength), provider ?? '', endpoint]
}

/** The columns that are sums. */
export type RollupSum = Exclude<keyof CallSums, 'latencies' | 'first_bytes'>

interface Amount {
  /** In SQL, with the columns of `usage`. */
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
 * Says which rows add to sums. Lists of models, dry runs, and other calls that succeeded without a request to
 * a provider and cost nothing do not.
 */
export const isSummed = {
  sql: "(attempts > 0 or outcome <> 'ok' or cost_nano_usd <> 0) and endpoint <> 'models'",
  of: ({ attempts, outcome, cost_nano_usd: cost, endpoint }: UsageRow): boolean =>
    (attempts > 0 || outcome !== 'ok' || (cost ?? 0) !== 0) && endpoint !== 'models'
} as const

/**
 * The endpoint of what was used at another gateway before keys came from there. A row is a day of a key and a
 * model, whose calls are its `attempts`, or spending alone; it has no duration.
 */
export const importEndpoint = 'import'
const isImportedDay = `endpoint = '${importEndpoint}' and attempts > 1`

/** What a row says of whom it is made for. */
export type NamedRow = Pick<UsageRow, 'end_user' | 'session' | 'tags'>

/** Returns true for a row with a name. One of an earlier version may lack their columns. */
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

export const rollupSums = Object.keys(amounts) as RollupSum[] // its keys are those

/** The durations that are counted in buckets, each of a column of `usage`; those of complete calls only. */
export const rollupDurations = { latencies: 'duration_ms', first_bytes: 'first_byte_ms' } as const

/**
 * Returns the SQL of a row's count in its bucket; null where there is none.
 *
 * @param times SQL of how often it counts
 */
export function countSql (
  duration: typeof rollupDurations[keyof typeof rollupDurations],
  times = "'1'"
): string {
  const isTimed = `outcome = 'ok' and endpoint <> '${importEndpoint}' and ${duration} is not null`
  return `case when ${isTimed} then ${bucketSql(duration)} || ':' || ${times} end`
}

/**
 * Returns the SQL of the project of a record: that of its key, and the default one for keys of the
 * configuration. Mirrored calls are copies of calls of any project: they have one of their own, which no
 * member sees.
 *
 * @param record the name of a row with `endpoint` and `key_id`
 */
export function projectSql (record: string): string {
  return `case when ${record}.endpoint = 'mirror' then 'mirror' else coalesce((select project_id from keys where keys.id = ${record}.key_id), 'default') end`
}
