/** Narrows usage records to some calls: those of a time, and those that an operator filters by. */

import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import type { callNumbers } from '../../schemas/admin/calls.ts'
import type { Tables } from '../stores/tables.ts'

/** Says whose calls are meant, and to what. Lists are of alternatives; an absent one allows all. */
export interface CallOrigin {
  readonly projects?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  readonly models?: readonly string[] | undefined
  readonly providers?: readonly string[] | undefined
  readonly endpoints?: readonly string[] | undefined
  readonly endUsers?: readonly string[] | undefined
  readonly sessions?: readonly string[] | undefined
  /** Calls with one of these. */
  readonly tags?: readonly string[] | undefined
}

export interface CallFilter extends CallOrigin {
  readonly fromMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  /** The values that a column may have. */
  readonly values?: ReadonlyArray<readonly [column: ListedColumn, values: ReadonlyArray<string | number>]>
  /** The numbers that a column may have, both ends included; a record without one is not meant. */
  readonly ranges?: ReadonlyArray<
    readonly [column: MeasuredColumn, min: number | undefined, max: number | undefined]
  >
  /** False: those whose cost is not known. */
  readonly priced?: boolean | undefined
  /** True: those whose answers came from the cache. */
  readonly cached?: boolean | undefined
  /** Part of a request id, model, key name or error code. */
  readonly search?: string | undefined
}

export type ListedColumn =
  | 'call_id'
  | 'requested_model'
  | 'outcome'
  | 'status'
  | 'error_code'
  | 'streamed'
  | 'estimated'
  | 'own_provider_key'
  | 'image_size'
  | 'image_quality'
export type MeasuredColumn = keyof typeof callNumbers | 'cost_nano_usd'

export type CallQuery = SelectQueryBuilder<Tables & { record: Tables['usage'] }, 'record', object>

/**
 * The project of a record: that of its key, and the default one for keys of the configuration. Mirrored calls
 * are copies of calls of any project: no member sees them.
 */
export const projectOfRecord = sql<string>`case when record.endpoint = 'mirror' then 'mirror' else coalesce((select project_id from keys where keys.id = record.key_id), 'default') end`

/** Returns the condition that a `record` of usage is of such calls. */
export function madeBy (origin: CallOrigin): RawBuilder<boolean> {
  const { projects, keys, models, providers, endpoints, endUsers, sessions, tags } = origin
  const lists = [
    [projectOfRecord, projects],
    [sql.ref('record.key_id'), keys],
    [sql.ref('record.model'), models],
    [sql.ref('record.provider'), providers],
    [sql.ref('record.endpoint'), endpoints],
    [sql.ref('record.end_user'), endUsers],
    [sql.ref('record.session'), sessions]
  ] as const
  // An empty list is one that allows nothing, which `in ()` cannot say.
  const conditions = lists.flatMap(([column, values]) =>
    values === undefined ? [] : [values.length === 0 ? sql`1 = 0` : sql`${column} in (${sql.join(values)})`]
  )
  if (tags !== undefined) {
    conditions.push(
      sql`exists (select 1 from json_each(record.tags) as tag where tag.value in (${sql.join(tags)}))`
    )
  }
  return conditions.length === 0 ? sql`1 = 1` : sql`(${sql.join(conditions, sql` and `)})`
}

/** Begins a query on the records that a filter allows. */
export function filteredCalls (query: Kysely<Tables>, filter: CallFilter): CallQuery {
  return narrowed(query.selectFrom('usage as record'), filter)
}

/** Narrows a query to the records that a filter allows. */
export function narrowed (all: CallQuery, filter: CallFilter): CallQuery {
  const { fromMs, untilMs, values = [], ranges = [], priced, cached, search } = filter
  let records = all.where(madeBy(filter))
  if (fromMs !== undefined) records = records.where('record.at_ms', '>=', fromMs)
  if (untilMs !== undefined) records = records.where('record.at_ms', '<', untilMs)
  for (const [column, allowed] of values) {
    records = records.where(sql.ref(`record.${column}`), 'in', [...allowed])
  }
  for (const [column, min, max] of ranges) {
    if (min !== undefined) records = records.where(sql.ref(`record.${column}`), '>=', min)
    if (max !== undefined) records = records.where(sql.ref(`record.${column}`), '<=', max)
  }
  if (priced !== undefined) records = records.where('record.cost_nano_usd', priced ? 'is not' : 'is', null)
  if (cached !== undefined) records = records.where('record.cached', cached ? 'is not' : 'is', null)
  if (search === undefined) return records
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  const contains = (column: string) => sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`
  return records.where(record =>
    record.or([
      ...['record.call_id', 'record.model', 'record.requested_model', 'record.error_code'].map(contains),
      record.exists(
        record
          .selectFrom('keys')
          .select('keys.id')
          .whereRef('keys.id', '=', 'record.key_id')
          .where(contains('keys.name'))
      )
    ])
  )
}
