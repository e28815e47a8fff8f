/** Narrows usage records to some calls: those of a time, and those that an operator filters by. */

import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import type { Tables } from '../stores/tables.ts'

/** Says whose calls are meant, and to what. Lists are of alternatives; an absent one allows all. */
export interface CallOrigin {
  readonly projects?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  readonly models?: readonly string[] | undefined
  readonly providers?: readonly string[] | undefined
  readonly endpoints?: readonly string[] | undefined
}

export interface CallFilter extends CallOrigin {
  readonly fromMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  readonly outcomes?: readonly string[] | undefined
  readonly statuses?: readonly number[] | undefined
  readonly errors?: readonly string[] | undefined
  readonly streamed?: boolean | undefined
  /** Part of a request id, model, key name or error code. */
  readonly search?: string | undefined
  readonly minCostNanoUsd?: number | undefined
  readonly minDurationMs?: number | undefined
}

export type CallQuery = SelectQueryBuilder<Tables & { record: Tables['usage'] }, 'record', object>

/** The project of a record: that of its key, and the default one for keys of the configuration. */
export const projectOfRecord = sql<string>`coalesce((select project_id from keys where keys.id = record.key_id), 'default')`

/** Returns the condition that a `record` of usage is of such calls. */
export function madeBy ({ projects, keys, models, providers, endpoints }: CallOrigin): RawBuilder<boolean> {
  const lists = [
    [projectOfRecord, projects], [sql.ref('record.key_id'), keys], [sql.ref('record.model'), models], [sql.ref('record.provider'), providers],
    [sql.ref('record.endpoint'), endpoints]
  ] as const
  // An empty list is one that allows nothing, which `in ()` cannot say.
  const conditions = lists.flatMap(([column, values]) => values === undefined ? [] : [values.length === 0 ? sql`1 = 0` : sql`${column} in (${sql.join(values)})`])
  return conditions.length === 0 ? sql`1 = 1` : sql`(${sql.join(conditions, sql` and `)})`
}

/** Begins a query on the records that a filter allows. */
export function filteredCalls (query: Kysely<Tables>, filter: CallFilter): CallQuery {
  return narrowed(query.selectFrom('usage as record'), filter)
}

/** Narrows a query to the records that a filter allows. */
export function narrowed (all: CallQuery, filter: CallFilter): CallQuery {
  const { fromMs, untilMs, streamed, search, minCostNanoUsd, minDurationMs } = filter
  let records = all.where(madeBy(filter))
  if (fromMs !== undefined) records = records.where('record.at_ms', '>=', fromMs)
  if (untilMs !== undefined) records = records.where('record.at_ms', '<', untilMs)
  if (streamed !== undefined) records = records.where('record.streamed', '=', Number(streamed))
  if (minCostNanoUsd !== undefined) records = records.where('record.cost_nano_usd', '>=', minCostNanoUsd)
  if (minDurationMs !== undefined) records = records.where('record.duration_ms', '>=', minDurationMs)
  const lists = [
    ['record.outcome', filter.outcomes], ['record.status', filter.statuses], ['record.error_code', filter.errors]
  ] as const
  for (const [column, values] of lists) if (values !== undefined) records = records.where(sql.ref(column), 'in', [...values])
  if (search === undefined) return records
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  const contains = (column: string) => sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
  return records.where(record => record.or([
    ...['record.call_id', 'record.model', 'record.requested_model', 'record.error_code'].map(contains),
    record.exists(record.selectFrom('keys').select('keys.id').whereRef('keys.id', '=', 'record.key_id').where(contains('keys.name')))
  ]))
}
