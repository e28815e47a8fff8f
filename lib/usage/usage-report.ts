/** Sums usage records for the dashboard: totals and series, by project, key, model, provider or endpoint. */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Usage, UsageGroup, UsageSeries, UsageTotals, groupingNames } from '../../schemas/admin/usage.ts'
import type { Tables } from '../stores/tables.ts'
import { filteredCalls, projectOfRecord, type CallFilter } from './call-filter.ts'
import { bucketOf, Durations } from './percentiles.ts'

export type ReportGrouping = typeof groupingNames[number]

export interface UsageReportRequest {
  readonly filter: CallFilter & { readonly fromMs: number, readonly untilMs: number }
  readonly bucket: 'hour' | 'day'
  readonly groupBy?: ReportGrouping | undefined
  /** True: also the period of the same length before. */
  readonly compare?: boolean | undefined
}

export const bucketMs = { hour: 3_600_000, day: 86_400_000 } as const

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
  project: projectOfRecord, key: sql.ref('record.key_id'), model: sql.ref('record.model'), provider: sql.ref('record.provider'), endpoint: sql.ref('record.endpoint')
}

export async function usageReport (query: Kysely<Tables>, request: UsageReportRequest): Promise<Usage> {
  const { filter, bucket, groupBy, compare } = request
  const { fromMs, untilMs } = filter
  const times = timesOf(fromMs, untilMs, bucketMs[bucket])
  const groups = await cellsOf(query, filter, bucketMs[bucket], groupBy)
  const all = merged([...groups.values()])
  const before = { ...filter, fromMs: fromMs - (untilMs - fromMs), untilMs: fromMs }
  const previous = compare === true ? merged([...(await cellsOf(query, before, bucketMs[bucket], undefined)).values()]) : undefined
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

async function cellsOf (query: Kysely<Tables>, filter: CallFilter, spanMs: number, groupBy: ReportGrouping | undefined): Promise<Map<string | null, Map<number, Cell>>> {
  const group = groupBy === undefined ? sql<string | null>`null` : groupColumns[groupBy]
  const at = sql<number>`record.at_ms - record.at_ms % ${sql.lit(spanMs)}`
  const count = (condition: RawBuilder<unknown>) => sql<number>`count(case when ${condition} then 1 end)`
  const sum = (column: string) => sql<number>`coalesce(sum(${sql.ref(column)}), 0)`
  const records = query.selectFrom(filteredCalls(query, filter).selectAll().select([group.as('group_id'), at.as('bucket_ms')]).as('record'))
  const sums = await records.select([
    'record.group_id', 'record.bucket_ms', sql<number>`count(*)`.as('calls'), count(sql`outcome in ('error', 'interrupted')`).as('errors'),
    count(sql`outcome = 'client_closed'`).as('cancelled'), count(sql`estimated = 1 and cost_nano_usd > 0`).as('estimated_calls'),
    count(sql`cost_nano_usd is null`).as('unpriced_calls'), sum('prompt_tokens').as('prompt_tokens'), sum('completion_tokens').as('completion_tokens'),
    sum('cached_tokens').as('cached_tokens'), sum('reasoning_tokens').as('reasoning_tokens'), sum('images').as('images'), sum('audio_ms').as('audio_ms'),
    sum('pages').as('pages'), sum('cost_nano_usd').as('cost_nano_usd')
  ]).groupBy(['record.group_id', 'record.bucket_ms']).execute()
  const groups = new Map<string | null, Map<number, Cell>>()
  const cell = (id: string | null, ms: number): Cell => {
    let cells = groups.get(id)
    if (cells === undefined) groups.set(id, cells = new Map())
    let found = cells.get(ms)
    if (found === undefined) cells.set(ms, found = emptyCell())
    return found
  }
  for (const row of sums) for (const name of sumNames) cell(row.group_id, row.bucket_ms).sums[name] = row[name]
  for (const [column, measure] of [['record.duration_ms', 'latencies'], ['record.first_byte_ms', 'firstBytes']] as const) {
    const counted = await records.where(sql.ref(column), 'is not', null).where('record.outcome', '=', 'ok')
      .select(['record.group_id', 'record.bucket_ms', bucketOf(column).as('ms'), sql<number>`count(*)`.as('count')])
      .groupBy(['record.group_id', 'record.bucket_ms', 'ms']).execute()
    for (const { group_id: id, bucket_ms: at, ms, count } of counted) cell(id, at)[measure].add(ms, count)
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
