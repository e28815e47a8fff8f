/**
 * Reads usage as additive parts: rollups of the whole hours and days of a period, and records of the rest.
 */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { attributionNames, type AttributionName, type groupingNames } from '../../schemas/admin/usage.ts'
import type { TimeRange } from '../core/day.ts'
import type { Tables, UsageRollupRow } from '../stores/tables.ts'
import {
  amounts,
  countSql,
  isSummed,
  rollupDimensions,
  rollupDurations,
  rollupSpans,
  rollupSums,
  type RollupSum
} from '../stores/usage-rollups.ts'
import { allNames, onceKind } from '../stores/name-rollups.ts'
import { negatedCountsSql } from '../stores/percentiles.ts'
import { isOneOf, madeBy, projectOfRecord, type CallOrigin } from './call-filter.ts'

/** What parts are grouped by. */
export type PartGrouping = typeof groupingNames[number] | 'day'

/** Part of a period, read from records or from rollups of one duration. */
export interface Piece extends TimeRange {
  readonly spanMs: number | undefined
  /** True if sums by name may be incomplete: individual names are read instead. */
  readonly lacksNames?: boolean
}

/** What a report reads, as decided by `planParts`. */
export interface PartsPlan {
  readonly origin: CallOrigin
  /** The groupings of the parts. */
  readonly by: readonly PartGrouping[]
  readonly pieces: readonly Piece[]
  /** The kind of name whose daily sums are read. Default: sums by key and model. */
  readonly kind?: AttributionName | undefined
  /** The names of `kind` to distinguish; all others form one part with a null name. Default: all. */
  readonly listed?: readonly string[] | undefined
  /** Calls before this time are left out. Default: none. */
  readonly cutBeforeMs?: number | undefined
  /** While older records are being summed up: sums by name exist from this time on. */
  readonly summedFromMs?: number | undefined
}

/** The sums of a record, an hour or a day. */
export type UsagePart = Omit<UsageRollupRow, 'span_ms'> &
  Readonly<Record<AttributionName | 'project_id', string>>

const dimensions = Object.keys(rollupDimensions)
const durations = Object.keys(rollupDurations) as Array<keyof typeof rollupDurations> // its own keys

/** Columns of a part that are sums or duration counts. */
export type PartSum = RollupSum | keyof typeof rollupDurations

const partSums: readonly PartSum[] = [...rollupSums, ...durations]

const recordColumns = sql.raw([
  'at_ms as from_ms', ...Object.entries(rollupDimensions).map(([name, from]) => `${from} as ${name}`),
  ...rollupSums.map(name => `${amounts[name].sql} as ${name}`),
  ...Object.entries(rollupDurations).map(([name, duration]) => `${countSql(duration)} as ${name}`)
].join(', '))

/** The SQL of the names of a record; empty if it has none. */
const nameOfRecord: Readonly<Record<AttributionName, RawBuilder<string>>> = {
  end_user: sql`coalesce(record.end_user, '')`,
  session: sql`coalesce(record.session, '')`,
  tag: sql`coalesce(tag.value, '')`
}

/**
 * Starts a query on the parts of a period, each a row of `record`. Grouped by tag, a call is one part per
 * tag. Parts may be negative: calls without a name are all calls minus those with one.
 *
 * @param sums columns to read. Default: all
 */
export function usageParts (
  query: Kysely<Tables>,
  plan: PartsPlan,
  sums: readonly PartSum[] = partSums
) {
  const selects = plan.pieces.flatMap(piece => selectsOf(piece, plan, sums))
  const parts: RawBuilder<UsagePart> = sql`(${sql.join(selects, sql` union all `)})`
  return query.selectFrom(parts.as('record'))
}

function selectsOf (
  piece: Piece,
  plan: PartsPlan,
  sums: readonly PartSum[]
): ReadonlyArray<RawBuilder<unknown>> {
  if (piece.spanMs === undefined) return [selectFromRecords(piece, plan, sums)]
  if (plan.kind === undefined) return [selectFromRollups(piece, plan, sums)]
  return selectFromNames(piece, plan, plan.kind, sums)
}

function columnsOf (sums: readonly PartSum[]): ReadonlyArray<RawBuilder<unknown>> {
  return ['from_ms', ...dimensions, ...sums].map(name => sql.ref(`record.${name}`))
}

function selectFromRecords (
  { fromMs, untilMs }: TimeRange,
  { origin, by }: PartsPlan,
  sums: readonly PartSum[]
): RawBuilder<unknown> {
  const names = namesIn(by).map(name => sql`${nameOfRecord[name]} as ${sql.ref(name)}`)
  const tags = by.includes('tag') ? sql`left join json_each(record.tags) as tag on tag.value <> ''` : sql``
  return sql`select ${sql.join([...columnsOf(sums), ...projectIn(by, projectOfRecord), ...names])}
    from (
      select ${recordColumns}, end_user, session, tags from usage
      where at_ms >= ${fromMs} and at_ms < ${untilMs} and ${sql.raw(isSummed.sql)}
    ) as record
    ${tags} where ${madeBy(origin)}`
}

function selectFromRollups (
  { fromMs, untilMs, spanMs }: Piece,
  { origin, by }: PartsPlan,
  sums: readonly PartSum[]
): RawBuilder<unknown> {
  const { projects, keys, models, providers, endpoints } = origin
  const names = namesIn(by).map(name => sql`'' as ${sql.ref(name)}`)
  return sql`select ${sql.join([...columnsOf(sums), ...projectIn(by, projectOfRecord), ...names])}
    from usage_rollups as record
    where span_ms = ${spanMs} and from_ms >= ${fromMs} and from_ms < ${untilMs}
      and ${madeBy({ projects, keys, models, providers, endpoints })}`
}

/** Returns the sums by name, plus those of calls without a name if names are distinguished. */
function selectFromNames (
  piece: Piece,
  plan: PartsPlan,
  kind: AttributionName,
  sums: readonly PartSum[]
): ReadonlyArray<RawBuilder<unknown>> {
  const { endUsers, sessions, tags } = plan.origin
  const wanted = { end_user: endUsers, session: sessions, tag: tags }[kind]
  const name = sql.ref('record.name')
  const select = (rollups: NameRollups): RawBuilder<unknown> => (
    selectFromNameRollups(piece, plan, rollups, sums)
  )
  if (wanted !== undefined) return [select({ kind, name, condition: isOneOf(name, wanted), times: 1 })]
  const ofAll = sql<boolean>`${name} = ${allNames}`
  const ofEach = sql<boolean>`${name} > ${allNames}`
  const once = onceKind(kind)
  const named = piece.lacksNames === true && once === kind ? ofEach : ofAll
  const none = [
    selectFromRollups(piece, plan, sums), select({ kind: once, name: sql`''`, condition: named, times: -1 })
  ]
  const listed = isOneOf(name, plan.listed?.filter(each => each !== ''))
  if (listed === undefined || piece.lacksNames === true) {
    return [select({ kind, name, condition: ofEach, times: 1 }), ...none]
  }
  const other = sql`cast(null as text)`
  return [
    select({ kind, name, condition: listed, times: 1 }),
    select({ kind, name: other, condition: ofAll, times: 1 }),
    select({ kind, name: other, condition: listed, times: -1 }),
    ...none
  ]
}

interface NameRollups {
  readonly kind: string
  readonly name: RawBuilder<unknown>
  readonly condition: RawBuilder<boolean> | undefined
  /** -1 to subtract amounts. */
  readonly times: 1 | -1
}

function selectFromNameRollups (
  { fromMs, untilMs }: TimeRange,
  { by, origin: { projects, models } }: PartsPlan,
  { kind, name, condition, times }: NameRollups,
  sums: readonly PartSum[]
): RawBuilder<unknown> {
  const amount = (column: string): RawBuilder<unknown> => (
    sql`${sql.lit(times)} * ${sql.ref(`record.${column}`)}`
  )
  const counts = (column: keyof typeof rollupDurations): RawBuilder<unknown> => (
    times === 1 ? sql.ref(`record.${column}`) : sql.raw(negatedCountsSql(`record.${column}`))
  )
  const selected = [
    sql`record.from_ms, '' as key_id, record.model, '' as provider, '' as endpoint`,
    ...sums.map(column => {
      const value = isDuration(column) ? counts(column) : amount(column)
      return sql`${value} as ${sql.ref(column)}`
    }),
    ...projectIn(by, sql.ref('record.project_id')),
    ...namesIn(by).map(each => sql`${name} as ${sql.ref(each)}`)
  ]
  const conditions = [
    sql`kind = ${kind} and from_ms >= ${fromMs} and from_ms < ${untilMs}`,
    isOneOf(sql.ref('record.project_id'), projects),
    isOneOf(sql.ref('record.model'), models),
    condition
  ].filter(each => each !== undefined)
  return sql`select ${sql.join(selected)} from name_rollups as record where ${sql.join(conditions, sql` and `)}`
}

function isDuration (column: PartSum): column is keyof typeof rollupDurations {
  return column in rollupDurations
}

/** Lists the groupings that are caller-supplied names. */
export function namesIn (by: readonly PartGrouping[]): readonly AttributionName[] {
  return attributionNames.filter(name => by.includes(name))
}

/** Looking up projects takes longer than summing. */
function projectIn (
  by: readonly PartGrouping[],
  project: RawBuilder<unknown>
): ReadonlyArray<RawBuilder<unknown>> {
  return by.includes('project') ? [sql`${project} as project_id`] : []
}

/** Returns true for a filter by caller-supplied names. */
export function isAttributed ({ endUsers, sessions, tags }: CallOrigin): boolean {
  return (endUsers ?? sessions ?? tags) !== undefined
}

/** Lists the durations of rollups up to the smallest unit of time to distinguish. */
export function spansUpTo (smallestMs: number): readonly number[] {
  return rollupSpans.filter(spanMs => spanMs <= smallestMs)
}

/**
 * Splits a period into the largest possible pieces: records, hours, days, hours, records.
 *
 * @param spans durations of rollups, ascending, at most two
 * @param nowMs the current hour or day counts as complete, because no later records exist
 */
export function piecesOf (
  { fromMs, untilMs }: TimeRange,
  spans: readonly number[],
  nowMs: number
): Piece[] {
  const [shortMs, longMs] = spans
  if (shortMs === undefined) return [{ fromMs, untilMs, spanMs: undefined }]
  const endMs = untilMs >= nowMs ? ceil(untilMs, shortMs) : untilMs
  const short = inside({ fromMs, untilMs: endMs }, shortMs)
  const none = { fromMs: short.untilMs, untilMs: short.untilMs }
  const long = longMs === undefined ? none : inside(short, longMs)
  return [
    { fromMs, untilMs: short.fromMs, spanMs: undefined },
    { fromMs: short.fromMs, untilMs: long.fromMs, spanMs: shortMs },
    { ...long, spanMs: longMs },
    { fromMs: long.untilMs, untilMs: short.untilMs, spanMs: shortMs },
    { fromMs: short.untilMs, untilMs: endMs, spanMs: undefined }
  ].filter((piece, index) => piece.fromMs < piece.untilMs || index === 0)
}

/** Returns the whole spans within a period; an empty range at its end if there are none. */
function inside ({ fromMs, untilMs }: TimeRange, spanMs: number): TimeRange {
  const [first, end] = [ceil(fromMs, spanMs), untilMs - untilMs % spanMs]
  return first < end ? { fromMs: first, untilMs: end } : { fromMs: untilMs, untilMs }
}

export function ceil (ms: number, spanMs: number): number {
  return Math.ceil(ms / spanMs) * spanMs
}
