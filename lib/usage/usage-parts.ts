/**
 * Reads usage as parts that add up: rollups of the hours and days that a period contains, and records of the
 * rest of it.
 */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { attributionNames, type AttributionName, type groupingNames } from '../../schemas/admin/usage.ts'
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
import { takenBackSql } from '../stores/percentiles.ts'
import { isOneOf, madeBy, projectOfRecord, type CallOrigin } from './call-filter.ts'

export interface Period {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

/** What distinguishes parts. */
export type PartGrouping = typeof groupingNames[number] | 'day'

/** A piece of a period, read from records or from rollups of one span. */
export interface Piece extends Period {
  readonly spanMs: number | undefined
  /** True where the sums of all names may lack some: the names are read in their place. */
  readonly lacksNames?: boolean
}

/** Says from what a report is read, as `planParts` decides. */
export interface PartsPlan {
  readonly origin: CallOrigin
  /** What distinguishes parts. */
  readonly by: readonly PartGrouping[]
  readonly pieces: readonly Piece[]
  /** The kind of names whose sums are read for days. Default: those by key and model. */
  readonly kind?: AttributionName | undefined
  /**
   * The names of `kind` that are distinguished: all others have one part, whose name is null. Default: all
   * are.
   */
  readonly listed?: readonly string[] | undefined
  /** The time before which calls are left out. Default: none are. */
  readonly cutBeforeMs?: number | undefined
  /** While records of an earlier version are summed up: the time from which there are sums by names. */
  readonly summedFromMs?: number | undefined
}

/** The sums of a record, an hour or a day. */
export type UsagePart = Omit<UsageRollupRow, 'span_ms'> &
  Readonly<Record<AttributionName | 'project_id', string>>

const dimensions = Object.keys(rollupDimensions)
const durations = Object.keys(rollupDurations) as Array<keyof typeof rollupDurations> // its keys are those

/** The columns of a part that are sums, or counts of durations. */
export type PartSum = RollupSum | keyof typeof rollupDurations

const partSums: readonly PartSum[] = [...rollupSums, ...durations]

const ofRecords = sql.raw([
  'at_ms as from_ms', ...Object.entries(rollupDimensions).map(([name, from]) => `${from} as ${name}`),
  ...rollupSums.map(name => `${amounts[name].sql} as ${name}`),
  ...Object.entries(rollupDurations).map(([name, duration]) => `${countSql(duration)} as ${name}`)
].join(', '))

/** The SQL of the names of a record; empty where it has none. */
const nameOfRecord: Readonly<Record<AttributionName, RawBuilder<string>>> = {
  end_user: sql`coalesce(record.end_user, '')`,
  session: sql`coalesce(record.session, '')`,
  tag: sql`coalesce(tag.value, '')`
}

/**
 * Begins a query on the parts of a period, each a row of `record`. With names of callers a call is a part for
 * each of its tags. A part may have less than nothing: the calls without a name are all calls, less those
 * with one.
 *
 * @param sums that are read. Default: all
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
  if (piece.spanMs === undefined) return [ofRecordsOf(piece, plan, sums)]
  if (plan.kind === undefined) return [ofRollups(piece, plan, sums)]
  return ofNames(piece, plan, plan.kind, sums)
}

function columnsOf (sums: readonly PartSum[]): ReadonlyArray<RawBuilder<unknown>> {
  return ['from_ms', ...dimensions, ...sums].map(name => sql.ref(`record.${name}`))
}

function ofRecordsOf (
  { fromMs, untilMs }: Period,
  { origin, by }: PartsPlan,
  sums: readonly PartSum[]
): RawBuilder<unknown> {
  const names = namesIn(by).map(name => sql`${nameOfRecord[name]} as ${sql.ref(name)}`)
  const tags = by.includes('tag') ? sql`left join json_each(record.tags) as tag on tag.value <> ''` : sql``
  return sql`select ${sql.join([...columnsOf(sums), ...projectIn(by, projectOfRecord), ...names])}
    from (
      select ${ofRecords}, end_user, session, tags from usage
      where at_ms >= ${fromMs} and at_ms < ${untilMs} and ${sql.raw(isSummed.sql)}
    ) as record
    ${tags} where ${madeBy(origin)}`
}

function ofRollups (
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

/** Returns the sums of names, with those of calls without one where names are distinguished. */
function ofNames (
  piece: Piece,
  plan: PartsPlan,
  kind: AttributionName,
  sums: readonly PartSum[]
): ReadonlyArray<RawBuilder<unknown>> {
  const { endUsers, sessions, tags } = plan.origin
  const wanted = { end_user: endUsers, session: sessions, tag: tags }[kind]
  const name = sql.ref('record.name')
  const select = (rollups: NameRollups): RawBuilder<unknown> => nameRollups(piece, plan, rollups, sums)
  if (wanted !== undefined) return [select({ kind, name, condition: isOneOf(name, wanted), times: 1 })]
  const ofAll = sql<boolean>`${name} = ${allNames}`
  const ofEach = sql<boolean>`${name} > ${allNames}`
  const once = onceKind(kind)
  const named = piece.lacksNames === true && once === kind ? ofEach : ofAll
  const none = [
    ofRollups(piece, plan, sums), select({ kind: once, name: sql`''`, condition: named, times: -1 })
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
  /** -1 for amounts that are taken back. */
  readonly times: 1 | -1
}

function nameRollups (
  { fromMs, untilMs }: Period,
  { by, origin: { projects, models } }: PartsPlan,
  { kind, name, condition, times }: NameRollups,
  sums: readonly PartSum[]
): RawBuilder<unknown> {
  const amount = (column: string): RawBuilder<unknown> => (
    sql`${sql.lit(times)} * ${sql.ref(`record.${column}`)}`
  )
  const counts = (column: keyof typeof rollupDurations): RawBuilder<unknown> => (
    times === 1 ? sql.ref(`record.${column}`) : sql.raw(takenBackSql(`record.${column}`))
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

/** Lists the groupings that are names of callers. */
export function namesIn (by: readonly PartGrouping[]): readonly AttributionName[] {
  return attributionNames.filter(name => by.includes(name))
}

/** Looking up projects takes longer than adding up. */
function projectIn (
  by: readonly PartGrouping[],
  project: RawBuilder<unknown>
): ReadonlyArray<RawBuilder<unknown>> {
  return by.includes('project') ? [sql`${project} as project_id`] : []
}

/** Returns true for a filter by names that callers choose. */
export function isAttributed ({ endUsers, sessions, tags }: CallOrigin): boolean {
  return (endUsers ?? sessions ?? tags) !== undefined
}

/** Lists the spans of rollups that are no longer than the shortest time to distinguish. */
export function spansUpTo (smallestMs: number): readonly number[] {
  return rollupSpans.filter(spanMs => spanMs <= smallestMs)
}

/**
 * Cuts a period into pieces, the largest that fit: records, hours, days, hours, records.
 *
 * @param spans of rollups: the shortest first, at most two
 * @param nowMs there are no records after it, so the present span counts as complete
 */
export function piecesOf (
  { fromMs, untilMs }: Period,
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

/** Returns the spans that a period contains; where it contains none, nothing at its end. */
function inside ({ fromMs, untilMs }: Period, spanMs: number): Period {
  const [first, end] = [ceil(fromMs, spanMs), untilMs - untilMs % spanMs]
  return first < end ? { fromMs: first, untilMs: end } : { fromMs: untilMs, untilMs }
}

export function ceil (ms: number, spanMs: number): number {
  return Math.ceil(ms / spanMs) * spanMs
}
