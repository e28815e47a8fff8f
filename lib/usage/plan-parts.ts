/**
 * Decides what a report reads: sums if there are any for its groupings, otherwise records, up to a number and
 * back to a time.
 */

import { sql, type Kysely } from 'kysely'
import { attributionNames, type AttributionName } from '../../schemas/admin/usage.ts'
import { dayMs, dayOf, type TimeRange } from '../core/day.ts'
import { otherNames, namePeriodStart } from '../stores/name-rollups.ts'
import { allNamesStep } from '../stores/migrations/usage-steps.ts'
import type { Tables } from '../stores/tables.ts'
import { hourMs } from '../stores/usage-rollups.ts'
import { isOneOf, type CallOrigin } from './call-filter.ts'
import {
  ceil,
  isAttributed,
  namesIn,
  piecesOf,
  spansUpTo,
  type PartGrouping,
  type PartsPlan,
  type Piece
} from './usage-parts.ts'

/** How many records a report by caller-supplied names may read. */
export interface RecordBounds {
  readonly maxMs: number
  readonly maxRecords: number
}

const recordBounds: RecordBounds = { maxMs: 31 * dayMs, maxRecords: 2_000_000 }

export interface PartsRequest {
  readonly period: TimeRange
  readonly origin: CallOrigin
  /** The groupings of the parts. */
  readonly by: readonly PartGrouping[]
  /** The smallest unit of time to distinguish: a minute, an hour or a day. */
  readonly smallestMs: number
  readonly nowMs: number
  /** Default: 31 days and 2 million records. */
  readonly bounds?: RecordBounds
}

export async function planParts (query: Kysely<Tables>, request: PartsRequest): Promise<PartsPlan> {
  const { period, origin, by, smallestMs, nowMs } = request
  if (namesIn(by).length === 0 && !isAttributed(origin)) {
    return { origin, by, pieces: piecesOf(period, spansUpTo(smallestMs), nowMs) }
  }
  const summedFromMs = await summedFrom(query)
  const kind = await summedKind(query, request)
  const sumsMs = kind === undefined ? Infinity : summedFromMs ?? 0
  const upgrade = await upgradeDays(query)
  const pieces = [
    { fromMs: period.fromMs, untilMs: Math.min(sumsMs, period.untilMs), spanMs: undefined },
    ...piecesOf({ ...period, fromMs: Math.max(sumsMs, period.fromMs) }, [dayMs], nowMs)
      .flatMap(piece => cutAt(piece, upgrade))
  ].filter(({ fromMs, untilMs }) => fromMs < untilMs)
  const cutBeforeMs = await cutBefore(query, pieces, request)
  return { origin, by, kind, summedFromMs, cutBeforeMs, pieces: within(pieces, cutBeforeMs, period) }
}

/**
 * Returns the days on which gateways of an older version may have added names without sums, next to one that
 * had already migrated the store. Such upgrades take at most an hour.
 */
async function upgradeDays (query: Kysely<Tables>): Promise<TimeRange> {
  const { rows: [step] } = await sql<{ at: number }>`
    select applied_at_ms as at from migrations where number = ${sql.lit(allNamesStep)}`.execute(query)
  const atMs = step?.at ?? 0
  return { fromMs: dayOf(atMs), untilMs: dayOf(atMs + hourMs) + dayMs }
}

/** Splits a piece around the days whose sums by name may be incomplete. */
function cutAt (piece: Piece, { fromMs, untilMs }: TimeRange): Piece[] {
  if (piece.spanMs === undefined) return [piece]
  return [
    { ...piece, untilMs: Math.min(piece.untilMs, fromMs) },
    {
      ...piece,
      fromMs: Math.max(piece.fromMs, fromMs),
      untilMs: Math.min(piece.untilMs, untilMs),
      lacksNames: true
    },
    { ...piece, fromMs: Math.max(piece.fromMs, untilMs) }
  ]
}

/** Returns the pieces after a time, at least one. */
function within (pieces: readonly Piece[], fromMs = 0, { untilMs }: TimeRange): Piece[] {
  const left = pieces
    .filter(piece => piece.untilMs > fromMs)
    .map(piece => ({ ...piece, fromMs: Math.max(fromMs, piece.fromMs) }))
  return left.length === 0 ? [{ fromMs: untilMs, untilMs, spanMs: undefined }] : left
}

async function summedFrom (query: Kysely<Tables>): Promise<number | undefined> {
  const backlog = await query.selectFrom('rollup_backlog').select('at_ms').executeTakeFirst()
  // records at exactly this time may be missing
  return backlog && ceil(backlog.at_ms + 1, dayMs)
}

/**
 * Returns the kind of name whose daily sums by project answer the question; tags also by model. A call with
 * several tags counts in each, so sums cannot tell how many have either of two tags.
 */
async function summedKind (
  query: Kysely<Tables>,
  { period, origin, by, smallestMs }: PartsRequest
): Promise<AttributionName | undefined> {
  const { projects, keys, models, providers, endpoints, endUsers, sessions, tags } = origin
  const wanted = { end_user: endUsers, session: sessions, tag: tags }
  const [kind, ...others] = attributionNames.filter(name => by.includes(name) || wanted[name] !== undefined)
  if (kind === undefined || others.length > 0 || smallestMs < dayMs) return undefined
  if ((keys ?? providers ?? endpoints) !== undefined) return undefined
  if (kind !== 'tag' && models !== undefined) return undefined
  const summed = new Set<PartGrouping>(['project', 'day', kind])
  if (kind === 'tag') summed.add('model')
  if (by.some(name => !summed.has(name))) return undefined
  if (wanted[kind] === undefined) return kind
  if (kind === 'tag' && (by.includes('tag') || wanted[kind].length > 1)) return undefined
  return await hasOthers(query, kind, period, projects) ? undefined : kind
}

/** Returns true if some names in a period are grouped as "other"; a filter may ask for one of those. */
async function hasOthers (
  query: Kysely<Tables>,
  kind: AttributionName,
  { fromMs, untilMs }: TimeRange,
  projects: CallOrigin['projects']
): Promise<boolean> {
  const ofProjects = isOneOf(sql.ref('project_id'), projects) ?? sql<boolean>`1 = 1`
  const other = await query.selectFrom('counted_names').select('name').where('kind', '=', kind)
    .where('from_ms', '>=', namePeriodStart(kind, fromMs)).where('from_ms', '<', untilMs)
    .where('name', '=', otherNames).where(ofProjects).limit(1).executeTakeFirst()
  return other !== undefined
}

/** Returns the time before which records are too many or too old; `undefined` if all are read. */
async function cutBefore (
  query: Kysely<Tables>,
  pieces: readonly Piece[],
  { origin, bounds: { maxMs, maxRecords } = recordBounds }: PartsRequest
): Promise<number | undefined> {
  let [msLeft, recordsLeft] = [maxMs, maxRecords]
  for (const { fromMs, untilMs, spanMs } of pieces.toReversed()) {
    if (spanMs !== undefined) continue
    const oldestMs = Math.max(fromMs, untilMs - msLeft)
    const period = { fromMs: oldestMs, untilMs }
    const { beforeMs, records } = await newestRecords(query, period, origin, recordsLeft)
    if (beforeMs > fromMs) return beforeMs
    msLeft -= untilMs - fromMs
    recordsLeft -= records
  }
  return undefined
}

interface Newest {
  /** Records before this time are left out. */
  readonly beforeMs: number
  readonly records: number
}

/**
 * Finds the time after which there are at most `max` records. A filter without an index counts all records.
 */
async function newestRecords (
  query: Kysely<Tables>,
  period: TimeRange,
  { endUsers, sessions }: CallOrigin,
  max: number
): Promise<Newest> {
  const { fromMs, untilMs } = period
  const conditions = [
    isOneOf(sql.ref('end_user'), endUsers), isOneOf(sql.ref('session'), sessions)
  ].filter(condition => condition !== undefined)
  if (conditions.length === 0) return await newestOfAll(query, period, max)
  const { rows: [newest] } = await sql<{ records: number, first: number | null }>`
    select count(*) as records, min(at_ms) as first from (
      select at_ms from usage
      where at_ms >= ${fromMs} and at_ms < ${untilMs} and ${sql.join(conditions, sql` and `)}
      order by at_ms desc limit ${sql.lit(max + 1)}
    ) as newest`.execute(query)
  const { records = 0, first } = newest ?? {}
  return records > max ? { beforeMs: (first ?? 0) + 1, records: max } : { beforeMs: fromMs, records }
}

/** Counts by day, and by hour within the day that exceeds the limit, from rollups only. */
async function newestOfAll (
  query: Kysely<Tables>,
  { fromMs, untilMs }: TimeRange,
  max: number
): Promise<Newest> {
  let records = 0
  for (const day of await callsOf(query, dayMs, { fromMs: fromMs - fromMs % dayMs, untilMs })) {
    if (records + day.calls > max) {
      const ofDay = { fromMs: day.from_ms, untilMs: Math.min(day.from_ms + dayMs, untilMs) }
      for (const hour of await callsOf(query, hourMs, ofDay)) {
        if (records + hour.calls > max) return { beforeMs: Math.max(fromMs, hour.from_ms + hourMs), records }
        records += hour.calls
      }
    } else {
      records += day.calls
    }
  }
  return { beforeMs: fromMs, records }
}

async function callsOf (
  query: Kysely<Tables>,
  spanMs: number,
  { fromMs, untilMs }: TimeRange
): Promise<ReadonlyArray<{ readonly from_ms: number, readonly calls: number }>> {
  return await query.selectFrom('usage_rollups')
    .select(({ fn }) => ['from_ms', fn.sum<number>('calls').as('calls')])
    .where('span_ms', '=', spanMs).where('from_ms', '>=', fromMs).where('from_ms', '<', untilMs)
    .groupBy('from_ms').orderBy('from_ms', 'desc').execute()
}
