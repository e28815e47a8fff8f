/**
 * Reads usage as parts that add up: rollups of the hours and days that a period contains, and records of the
 * rest of it.
 */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Tables, UsageRollupRow } from '../stores/tables.ts'
import {
  amounts,
  countSql,
  hourMs,
  isSummed,
  rollupDimensions,
  rollupDurations,
  rollupSums
} from '../stores/usage-rollups.ts'
import { madeBy, type CallOrigin } from './call-filter.ts'
import type { attributionNames } from '../../schemas/admin/usage.ts'
import { dayMs } from '../core/day.ts'

export interface Period {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

/** Names that callers choose: rollups are not by them. */
export type Attribution = typeof attributionNames[number]

/** A piece of a period, read from records or from rollups of one span. */
interface Piece extends Period {
  readonly spanMs: number | undefined
}

/** The sums of a record, an hour or a day. */
export type UsagePart = Omit<UsageRollupRow, 'span_ms'>

const dimensions = Object.keys(rollupDimensions)
const durations = Object.keys(rollupDurations)

const columns = ['from_ms', ...dimensions, ...rollupSums, ...durations].map(name => sql.ref(`record.${name}`))

const ofRecords = sql.raw([
  'at_ms as from_ms', ...Object.entries(rollupDimensions).map(([name, from]) => `${from} as ${name}`),
  ...rollupSums.map(name => `${amounts[name].sql} as ${name}`),
  ...Object.entries(rollupDurations).map(([name, duration]) => `${countSql(duration)} as ${name}`)
].join(', '))

/** The SQL of what reports by them read of a record; empty where it has none. */
const attributions: Readonly<Record<Attribution, RawBuilder<string>>> = {
  end_user: sql`coalesce(record.end_user, '')`,
  session: sql`coalesce(record.session, '')`,
  tag: sql`coalesce(tag.value, '')`
}

export interface PartsOptions {
  /** The shortest time to distinguish: a minute, an hour or a day. */
  readonly smallestMs: number
  /** There are no records after it, so the present hour counts as complete. */
  readonly nowMs: number
  /** Columns that parts have as well. With `tag` a call is a part for each of its tags. Default: none. */
  readonly by?: readonly Attribution[]
}

/** Begins a query on the parts of a period. */
export function usageParts (
  query: Kysely<Tables>,
  period: Period,
  origin: CallOrigin,
  { smallestMs, nowMs, by = [] }: PartsOptions
) {
  if (by.length > 0 || isAttributed(origin)) {
    return query.selectFrom(attributedParts(period, origin, by).as('record'))
  }
  const selects = piecesOf(period, smallestMs, nowMs).map(({ fromMs, untilMs, spanMs }) =>
    spanMs === undefined
      ? sql`select ${sql.join(columns)} from (select ${ofRecords} from usage where at_ms >= ${fromMs} and at_ms < ${untilMs} and ${sql.raw(isSummed.sql)}) as record where ${madeBy(origin)}`
      : sql`select ${sql.join(columns)} from usage_rollups as record where span_ms = ${spanMs} and from_ms >= ${fromMs} and from_ms < ${untilMs} and ${madeBy(origin)}`
  )
  const parts: RawBuilder<UsagePart> = sql`(${sql.join(selects, sql` union all `)})`
  return query.selectFrom(parts.as('record'))
}

/** Returns true for a filter by names that callers choose. */
export function isAttributed ({ endUsers, sessions, tags }: CallOrigin): boolean {
  return (endUsers ?? sessions ?? tags) !== undefined
}

/** Reads records alone. */
function attributedParts (
  { fromMs, untilMs }: Period,
  origin: CallOrigin,
  by: readonly Attribution[]
): RawBuilder<UsagePart> {
  const names = by.map(name => sql`${attributions[name]} as ${sql.ref(name)}`)
  const tags = by.includes('tag') ? sql`left join json_each(record.tags) as tag on 1 = 1` : sql``
  return sql`(select ${sql.join([...columns, ...names])}
    from (select ${ofRecords}, end_user, session, tags from usage where at_ms >= ${fromMs} and at_ms < ${untilMs} and ${sql.raw(isSummed.sql)}) as record
    ${tags} where ${madeBy(origin)})`
}

/** Cuts a period into pieces, the largest that fit: records, hours, days, hours, records. */
export function piecesOf ({ fromMs, untilMs }: Period, smallestMs: number, nowMs: number): Piece[] {
  if (smallestMs < hourMs) return [{ fromMs, untilMs, spanMs: undefined }]
  const endMs = untilMs >= nowMs ? ceil(untilMs, hourMs) : untilMs
  const hours = inside({ fromMs, untilMs: endMs }, hourMs)
  const days = smallestMs < dayMs ? { fromMs: hours.untilMs, untilMs: hours.untilMs } : inside(hours, dayMs)
  return [
    { fromMs, untilMs: hours.fromMs, spanMs: undefined },
    { fromMs: hours.fromMs, untilMs: days.fromMs, spanMs: hourMs },
    { ...days, spanMs: dayMs },
    { fromMs: days.untilMs, untilMs: hours.untilMs, spanMs: hourMs },
    { fromMs: hours.untilMs, untilMs: endMs, spanMs: undefined }
  ].filter((piece, index) => piece.fromMs < piece.untilMs || index === 0)
}

/** Returns the spans that a period contains; where it contains none, nothing at its end. */
function inside ({ fromMs, untilMs }: Period, spanMs: number): Period {
  const [first, end] = [ceil(fromMs, spanMs), untilMs - untilMs % spanMs]
  return first < end ? { fromMs: first, untilMs: end } : { fromMs: untilMs, untilMs }
}

function ceil (ms: number, spanMs: number): number {
  return Math.ceil(ms / spanMs) * spanMs
}
