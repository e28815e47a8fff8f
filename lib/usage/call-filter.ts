/** Narrows usage records to some calls: those of a time, and those that an operator filters by. */

import { sql, type Kysely, type SelectQueryBuilder } from 'kysely'
import type { Tables } from '../stores/tables.ts'

/** Lists are of alternatives; an absent one allows all. */
export interface CallFilter {
  readonly fromMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  readonly projects?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  readonly models?: readonly string[] | undefined
  readonly providers?: readonly string[] | undefined
  readonly endpoints?: readonly string[] | undefined
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

/** Begins a query on the records that a filter allows. */
export function filteredCalls (query: Kysely<Tables>, filter: CallFilter): CallQuery {
  const { fromMs, untilMs, projects, streamed, search, minCostNanoUsd, minDurationMs } = filter
  let records: CallQuery = query.selectFrom('usage as record')
  if (fromMs !== undefined) records = records.where('record.at_ms', '>=', fromMs)
  if (untilMs !== undefined) records = records.where('record.at_ms', '<', untilMs)
  // An empty list is one that allows nothing, which `in ()` cannot say.
  if (projects !== undefined) records = records.where(projectOfRecord, 'in', [...projects, ''])
  if (streamed !== undefined) records = records.where('record.streamed', '=', Number(streamed))
  if (minCostNanoUsd !== undefined) records = records.where('record.cost_nano_usd', '>=', minCostNanoUsd)
  if (minDurationMs !== undefined) records = records.where('record.duration_ms', '>=', minDurationMs)
  const lists = [
    ['record.key_id', filter.keys], ['record.model', filter.models], ['record.provider', filter.providers], ['record.endpoint', filter.endpoints],
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
