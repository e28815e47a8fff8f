/** Sums usage rows for the dashboard: totals and time series, by one grouping. */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Usage, UsageGroup, groupingNames } from '../../schemas/admin/usage.ts'
import type { Tables } from '../stores/tables.ts'
import { hourMs, rollupSums } from '../stores/usage-rollups.ts'
import type { CallOrigin } from './call-filter.ts'
import { dayMs, type TimeRange } from '../core/day.ts'
import { Durations } from '../stores/percentiles.ts'
import { planParts } from './plan-parts.ts'
import { namesIn, usageParts, type PartGrouping, type PartsPlan } from './usage-parts.ts'
import { CellSum, UsageSummary } from './usage-summary.ts'

export type ReportGrouping = typeof groupingNames[number]

export interface UsageReportRequest {
  readonly period: TimeRange
  readonly origin: CallOrigin
  readonly bucket: keyof typeof bucketMs
  readonly groupBy?: ReportGrouping | undefined
  /** True to include the preceding period of the same length. */
  readonly compare?: boolean | undefined
}

export const bucketMs = { minute: 60_000, hour: hourMs, day: dayMs } as const

/** Maximum number of separate groups. */
const maxGroups = 50

/** The SQL of a group's name; empty if unknown. */
const groupColumns: Readonly<Record<ReportGrouping, RawBuilder<string>>> = {
  project: sql.ref('record.project_id'),
  key: sql.ref('record.key_id'),
  model: sql.ref('record.model'),
  provider: sql.ref('record.provider'),
  endpoint: sql.ref('record.endpoint'),
  end_user: sql.ref('record.end_user'),
  session: sql.ref('record.session'),
  tag: sql.ref('record.tag')
}

export async function usageReport (query: Kysely<Tables>, request: UsageReportRequest): Promise<Usage> {
  const { period, origin, bucket, groupBy, compare } = request
  const { fromMs, untilMs } = period
  const times = timesOf(fromMs, untilMs, bucketMs[bucket])
  const by = groupBy === undefined ? [] : [groupBy]
  const shared = { origin, smallestMs: bucketMs[bucket], nowMs: Date.now() }
  const planOf = async (of: TimeRange, by: readonly PartGrouping[]): Promise<PartsPlan> => (
    await planParts(query, { ...shared, period: of, by })
  )
  const plan = await planOf(period, by)
  const { cutBeforeMs, summedFromMs } = plan
  const listed = groupBy && await highestGroups(query, plan, groupBy, maxGroups)
  const { all: added, groups } = await summariesOf(query, plan, bucketMs[bucket], listed)
  // A call counts once per tag, but only once in the total.
  const { all } =
    groupBy === 'tag'
      ? await summariesOf(
          query,
          await planOf({ untilMs, fromMs: cutBeforeMs ?? fromMs }, []),
          bucketMs[bucket]
        )
      : { all: added }
  const before = { fromMs: fromMs - (untilMs - fromMs), untilMs: fromMs }
  const planBefore = compare === true ? await planOf(before, []) : undefined
  // A partial period is not compared with a whole one.
  const previous =
    planBefore === undefined || (cutBeforeMs ?? planBefore.cutBeforeMs) !== undefined
      ? undefined
      : await summariesOf(query, planBefore, bucketMs[bucket])
  return {
    from_ms: fromMs,
    until_ms: untilMs,
    cut_before_ms: cutBeforeMs ?? null,
    summed_from_ms: summedFromMs ?? null,
    bucket,
    at_ms: times,
    totals: all.totals(),
    series: all.series(times),
    previous:
      previous === undefined
        ? null
        : {
            totals: previous.all.totals(),
            series: previous.all.series(timesOf(before.fromMs, before.untilMs, bucketMs[bucket]))
          },
    group_by: groupBy ?? null,
    groups: listed === undefined ? [] : await describe(query, listed, groups, times)
  }
}

/** The listed groups, in order. */
export interface ListedGroups {
  readonly by: ReportGrouping
  readonly ids: readonly string[]
  /** True if there are more groups. */
  readonly more: boolean
}

/** Finds the groups with the highest cost, then the most calls. */
export async function highestGroups (
  query: Kysely<Tables>,
  plan: PartsPlan,
  by: ReportGrouping,
  max: number
): Promise<ListedGroups> {
  const rows = await usageParts(query, { ...plan, by: [by] }, ['calls', 'cost_nano_usd'])
    .select(groupColumns[by].as('id')).groupBy('id').having(sql<number>`sum(calls)`, '>', 0)
    .orderBy(sql`sum(cost_nano_usd)`, 'desc').orderBy(sql`sum(calls)`, 'desc').limit(max + 1).execute()
  return { by, ids: rows.slice(0, max).map(({ id }) => id), more: rows.length > max }
}

/** Returns a plan that distinguishes only listed names. */
export function withListedGroups (plan: PartsPlan, { by, ids, more }: ListedGroups): PartsPlan {
  return more && plan.kind === by ? { ...plan, listed: ids } : plan
}

interface Summaries {
  readonly all: UsageSummary
  /** By id; `null` has the sum of all other groups. */
  readonly groups: ReadonlyMap<string | null, UsageSummary>
}

/** Sums up a period. Rows arrive bucket by bucket, so memory does not grow with the number of groups. */
async function summariesOf (
  query: Kysely<Tables>,
  plan: PartsPlan,
  spanMs: number,
  listed?: ListedGroups
): Promise<Summaries> {
  const at = sql<number>`record.from_ms - record.from_ms % ${sql.lit(spanMs)}`
  const rows = await usageParts(query, listed === undefined ? plan : withListedGroups(plan, listed))
    .select([groupOf(listed).as('group_id'), at.as('bucket_ms')])
    .select(rollupSums.map(name => sql<number>`sum(${sql.ref(name)})`.as(name)))
    .select(
      (['latencies', 'first_bytes'] as const).map(name =>
        sql<string | null>`string_agg(${sql.ref(name)}, ',')`.as(name)
      )
    )
    .groupBy(['bucket_ms', 'group_id'])
    .execute()
  const all = new Map<number, CellSum>()
  const groups = new Map<string | null, UsageSummary>()
  for (const row of rows) {
    const cell = {
      sums: row,
      latencies: new Durations(row.latencies),
      firstBytes: new Durations(row.first_bytes)
    }
    valueOf(groups, row.group_id, () => new UsageSummary()).add(row.bucket_ms, cell)
    valueOf(all, row.bucket_ms, () => new CellSum()).add(cell)
  }
  const summary = new UsageSummary()
  for (const [atMs, cell] of all) summary.add(atMs, cell)
  return { all: summary, groups }
}

/** Returns the SQL of the group of a part; null if not listed. */
export function groupOf (listed: ListedGroups | undefined): RawBuilder<string | null> {
  if (listed === undefined) return sql`null`
  const column = groupColumns[listed.by]
  return listed.more ? sql`case when ${column} in (${sql.join(listed.ids)}) then ${column} end` : column
}

function valueOf<K, V> (map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) map.set(key, value = make())
  return value
}

async function describe (
  query: Kysely<Tables>,
  { by, ids, more }: ListedGroups,
  groups: Summaries['groups'],
  times: readonly number[]
): Promise<UsageGroup[]> {
  const names = await namesOf(query, by)
  const groupName = (id: string): string =>
    id === ''
      ? namesIn([by]).length > 0
        ? 'None'
        : 'Not known'
      : (names.get(id) ?? id.replace(/^configured:/, ''))
  const described = (id: string | null, name: string): UsageGroup[] => {
    const summary = groups.get(id)
    return summary === undefined
      ? []
      : [{ id: id === '' ? null : id, name, totals: summary.totals(), series: summary.series(times) }]
  }
  return [...ids.flatMap(id => described(id, groupName(id))), ...more ? described(null, 'Others') : []]
}

async function namesOf (query: Kysely<Tables>, groupBy: ReportGrouping): Promise<Map<string, string>> {
  if (groupBy !== 'key' && groupBy !== 'project') return new Map()
  const rows = await query
    .selectFrom(groupBy === 'key' ? 'keys' : 'projects')
    .select(['id', 'name'])
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Lists the start times of the buckets of a period. */
export function timesOf (fromMs: number, untilMs: number, spanMs: number): number[] {
  const first = fromMs - (fromMs % spanMs)
  return Array.from(
    { length: Math.max(0, Math.ceil((untilMs - first) / spanMs)) },
    (_, index) => first + index * spanMs
  )
}
