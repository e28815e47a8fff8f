/** Narrows usage rows to a period and to an operator's filters. */

import { sql, type Kysely, type RawBuilder, type SelectQueryBuilder } from 'kysely'
import type { callNumbers } from '../../schemas/admin/calls.ts'
import { projectSql } from '../stores/usage-rollups.ts'
import type { Tables } from '../stores/tables.ts'

/** Filters by who made a call, and to which model or provider. A list means "any of"; absent means all. */
export interface CallOrigin {
  readonly projects?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  readonly models?: readonly string[] | undefined
  readonly providers?: readonly string[] | undefined
  readonly endpoints?: readonly string[] | undefined
  readonly endUsers?: readonly string[] | undefined
  readonly sessions?: readonly string[] | undefined
  /** Calls with at least one of these. */
  readonly tags?: readonly string[] | undefined
}

export interface CallFilter extends CallOrigin {
  readonly fromMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  /** Allowed values of columns. */
  readonly values?: ReadonlyArray<readonly [column: ListedColumn, values: ReadonlyArray<string | number>]>
  /** Allowed ranges of columns, inclusive; records without a value are left out. */
  readonly ranges?: ReadonlyArray<
    readonly [column: MeasuredColumn, min: number | undefined, max: number | undefined]
  >
  /** False: only calls of unknown cost. */
  readonly priced?: boolean | undefined
  /** True: only calls answered from the cache. */
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

export const projectOfRecord: RawBuilder<string> = sql.raw(projectSql('record'))

type Column = keyof Omit<CallOrigin, 'tags'>

/** The columns that identify a record's caller, model and provider. */
const recordColumns: Readonly<Record<Column, RawBuilder<unknown>>> = {
  projects: projectOfRecord,
  keys: sql.ref('record.key_id'),
  models: sql.ref('record.model'),
  providers: sql.ref('record.provider'),
  endpoints: sql.ref('record.endpoint'),
  endUsers: sql.ref('record.end_user'),
  sessions: sql.ref('record.session')
}

/** Returns the condition that a `record` matches an origin. */
export function madeBy ({ tags, ...origin }: CallOrigin): RawBuilder<boolean> {
  const conditions = Object.entries(recordColumns).map(([name, column]) =>
    isOneOf(column, origin[name as Column]) // keys of `Column`
  )
  const all = [...conditions, tags && hasOneOf(tags)].filter(condition => condition !== undefined)
  return all.length === 0 ? sql`1 = 1` : sql`(${sql.join(all, sql` and `)})`
}

/**
 * Returns the condition that a `record` has one of some tags. Most records have others: a search of the text,
 * which the row of a call prints as JSON, takes PostgreSQL a third of the time that parsing all of it does.
 */
function hasOneOf (tags: readonly string[]): RawBuilder<boolean> {
  const contains = tags.map(tag => sql`record.tags like ${containing(JSON.stringify(tag))} escape '\\'`)
  return sql`((${sql.join(contains, sql` or `)}) and exists (
    select 1 from json_each(record.tags) as tag where tag.value in (${sql.join(tags)})
  ))`
}

/** Returns the pattern of `like` for values that contain a text. */
function containing (text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/** Returns the condition that a column has one of some values; `undefined` if any value is allowed. */
export function isOneOf (
  column: RawBuilder<unknown>,
  values: readonly string[] | undefined
): RawBuilder<boolean> | undefined {
  // An empty list matches nothing, but `in ()` is not valid SQL.
  return values && (values.length === 0 ? sql`1 = 0` : sql`${column} in (${sql.join(values)})`)
}

/** Starts a query on the records that match a filter. */
export function filteredCalls (query: Kysely<Tables>, filter: CallFilter): CallQuery {
  return narrowed(query.selectFrom('usage as record'), filter)
}

/** Narrows a query to the records that match a filter. */
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
  const pattern = containing(search.toLowerCase())
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
