/** Sums usage records for the dashboard: totals and series, by project, key, model, provider or endpoint. */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Usage, UsageGroup, UsageSeries, UsageTotals, groupingNames } from '../../schemas/admin/usage.ts'
import type { Tables } from '../stores/tables.ts'
import { hourMs } from '../stores/usage-rollups.ts'
import { projectOfRecord, type CallOrigin } from './call-filter.ts'
import { dayMs } from './day.ts'
import { Durations } from './percentiles.ts'
import { usageParts, type Period } from './usage-parts.ts'

export type ReportGrouping = typeof groupingNames[number]

export interface UsageReportRequest {
  readonly period: Period
  readonly origin: CallOrigin
  readonly bucket: 'hour' | 'day'
  readonly groupBy?: ReportGrouping | undefined
  /** True: also the period of the same length before. */
  readonly compare?: boolean | undefined
}

export const bucketMs = { hour: hourMs, day: dayMs } as const

/** Groups that are listed one by one. */
const maxGroups = 50

/** The counts of a group in a bucket of time. */
interface Cell {
  readonly sums: Record<Sum, number>
  readonly latencies: Durations
  readonly firstBytes: Durations
}

const sumNames = [
  'calls', 'errors', 'cancelled', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'images', 'audio_ms', 'pages',
  'cost_nano_usd', 'estimated_calls', 'unpriced_calls'
] as const
type Sum = typeof sumNames[number]

const groupColumns: Readonly<Record<ReportGrouping, RawBuilder<string | null>>> = {
  project: projectOfRecord, key: sql.ref('record.key_id'), model: sql`nullif(record.model, '')`, provider: sql`nullif(record.provider, '')`, endpoint: sql.ref('record.endpoint')
}

export async function usageReport (query: Kysely<Tables>, request: UsageReportRequest): Promise<Usage> {
  const { period, origin, bucket, groupBy, compare } = request
  const { fromMs, untilMs } = period
  const times = timesOf(fromMs, untilMs, bucketMs[bucket])
  const groups = await cellsOf(query, period, origin, bucketMs[bucket], groupBy)
  const all = merged([...groups.values()])
  const before = { fromMs: fromMs - (untilMs - fromMs), untilMs: fromMs }
  const previous = compare === true ? merged([...(await cellsOf(query, before, origin, bucketMs[bucket], undefined)).values()]) : undefined
  return {
    from_ms: fromMs,
    until_ms: untilMs,
    bucket,
    at_ms: times,
    totals: totalsOf(all),
    series: seriesOf(all, times),
    previous: previous === undefined ? null : { totals: totalsOf(previous), series: seriesOf(previous, timesOf(before.fromMs, before.untilMs, bucketMs[bucket])) },
    group_by: groupBy ?? null,
    groups: groupBy === undefined ? [] : await listedGroups(query, groups, groupBy, times)
  }
}

/** Cells of a group by the time of their bucket. */
type Cells = ReadonlyMap<number, Cell>

async function cellsOf (
  query: Kysely<Tables>, period: Period, origin: CallOrigin, spanMs: number, groupBy: ReportGrouping | undefined
): Promise<Map<string | null, Map<number, Cell>>> {
  const group = groupBy === undefined ? sql<string | null>`null` : groupColumns[groupBy]
  const at = sql<number>`record.from_ms - record.from_ms % ${sql.lit(spanMs)}`
  const rows = await usageParts(query, period, origin, { smallestMs: spanMs, nowMs: Date.now() })
    .select([group.as('group_id'), at.as('bucket_ms')])
    .select(sumNames.map(name => sql<number>`sum(${sql.ref(name)})`.as(name)))
    .select((['latencies', 'first_bytes'] as const).map(name => sql<string | null>`string_agg(${sql.ref(name)}, ',')`.as(name)))
    .groupBy(['group_id', 'bucket_ms']).execute()
  const groups = new Map<string | null, Map<number, Cell>>()
  for (const { group_id: id, bucket_ms: ms, latencies, first_bytes: firstBytes, ...sums } of rows) {
    let cells = groups.get(id)
    if (cells === undefined) groups.set(id, cells = new Map())
    const cell = { sums, latencies: new Durations(), firstBytes: new Durations() }
    cell.latencies.addText(latencies ?? '')
    cell.firstBytes.addText(firstBytes ?? '')
    cells.set(ms, cell)
  }
  return groups
}

function emptyCell (): Cell {
  return { sums: Object.fromEntries(sumNames.map(name => [name, 0])) as Record<Sum, number>, latencies: new Durations(), firstBytes: new Durations() } // every name is there
}

/** Adds up groups, cell by cell. */
function merged (groups: readonly Cells[]): Cells {
  const all = new Map<number, Cell>()
  for (const cells of groups) {
    for (const [at, cell] of cells) {
      let into = all.get(at)
      if (into === undefined) all.set(at, into = emptyCell())
      addCell(into, cell)
    }
  }
  return all
}

function addCell (into: Cell, { sums, latencies, firstBytes }: Cell): void {
  for (const name of sumNames) into.sums[name] += sums[name]
  into.latencies.addAll(latencies)
  into.firstBytes.addAll(firstBytes)
}

function totalsOf (cells: Cells): UsageTotals {
  const total = emptyCell()
  for (const cell of cells.values()) addCell(total, cell)
  const { audio_ms: audioMs, cost_nano_usd: nanoUsd, ...sums } = total.sums
  return {
    ...sums, audio_seconds: audioMs / 1000, cost_usd: nanoUsd / 1e9, latency_ms: total.latencies.percentiles(), first_byte_ms: total.firstBytes.percentiles()
  }
}

function seriesOf (cells: Cells, times: readonly number[]): UsageSeries {
  const shown = times.map(at => {
    const cell = cells.get(at)
    return { sums: cell?.sums, latency: cell?.latencies.percentiles(), firstByte: cell?.firstBytes.percentiles() }
  })
  const of = (name: Sum, share = 1): number[] => shown.map(({ sums }) => (sums?.[name] ?? 0) / share)
  return {
    calls: of('calls'),
    errors: of('errors'),
    prompt_tokens: of('prompt_tokens'),
    completion_tokens: of('completion_tokens'),
    cost_usd: of('cost_nano_usd', 1e9),
    estimated_calls: of('estimated_calls'),
    unpriced_calls: of('unpriced_calls'),
    latency_p50_ms: shown.map(({ latency }) => latency?.p50 ?? null),
    latency_p95_ms: shown.map(({ latency }) => latency?.p95 ?? null),
    latency_p99_ms: shown.map(({ latency }) => latency?.p99 ?? null),
    first_byte_p50_ms: shown.map(({ firstByte }) => firstByte?.p50 ?? null),
    first_byte_p95_ms: shown.map(({ firstByte }) => firstByte?.p95 ?? null)
  }
}

/** Lists the groups with the highest cost, then the most calls; the others as one. */
async function listedGroups (query: Kysely<Tables>, groups: ReadonlyMap<string | null, Cells>, groupBy: ReportGrouping, times: readonly number[]): Promise<UsageGroup[]> {
  const known = [...groups].map(([id, cells]) => ({ id, cells, totals: totalsOf(cells) }))
    .toSorted((a, b) => b.totals.cost_usd - a.totals.cost_usd || b.totals.calls - a.totals.calls)
  const rest = merged(known.slice(maxGroups).map(({ cells }) => cells))
  const names = await namesOf(query, groupBy)
  const listed = known.slice(0, maxGroups).map(({ id, cells, totals }) => ({
    id, name: id === null ? 'Not known' : names.get(id) ?? id.replace(/^configured:/, ''), totals, series: seriesOf(cells, times)
  }))
  return known.length <= maxGroups ? listed : [...listed, { id: null, name: 'Others', totals: totalsOf(rest), series: seriesOf(rest, times) }]
}

async function namesOf (query: Kysely<Tables>, groupBy: ReportGrouping): Promise<Map<string, string>> {
  if (groupBy !== 'key' && groupBy !== 'project') return new Map()
  const rows = await query.selectFrom(groupBy === 'key' ? 'keys' : 'projects').select(['id', 'name']).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Lists the beginnings of the buckets of a period. */
export function timesOf (fromMs: number, untilMs: number, spanMs: number): number[] {
  const first = fromMs - fromMs % spanMs
  return Array.from({ length: Math.max(0, Math.ceil((untilMs - first) / spanMs)) }, (_, index) => first + index * spanMs)
}
