/** Totals of the usage ledger, by one or more groupings. */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { byUnitColumn } from '../../schemas/billed-units.ts'
import type { Tables } from '../stores/tables.ts'
import type { RollupSum } from '../stores/usage-rollups.ts'
import { dayMs, dayText } from '../core/day.ts'
import { attributionNames } from '../../schemas/admin/usage.ts'
import { otherNames } from '../stores/name-rollups.ts'
import { planParts } from './plan-parts.ts'
import { groupOf, highestGroups, withListedGroups, type ListedGroups } from './usage-report.ts'
import { namesIn, usageParts } from './usage-parts.ts'

export const groupings = ['key', 'model', 'provider', 'endpoint', 'day', ...attributionNames] as const
export type Grouping = typeof groupings[number]

/** Sums by printed name; unreported values count as zero. */
const sums = {
  calls: 'calls',
  failed: 'errors',
  cancelled: 'cancelled',
  unpriced: 'unpriced_calls',
  estimated: 'estimated_calls',
  ...byUnitColumn(({ column }) => column),
  cost_nano_usd: 'cost_nano_usd'
} as const satisfies Readonly<Record<string, RollupSum>>

/** Default number of listed end users, sessions or tags. */
export const defaultTop = 100

export type Sums = Readonly<Record<keyof typeof sums, number>>

export interface Total {
  /** Values of the groupings, in the order of the request: key names, model ids, days. */
  readonly group: Readonly<Partial<Record<Grouping, string | null>>>
  readonly sums: Sums
}

export interface Totals {
  /** Highest cost first, or by day. */
  readonly totals: readonly Total[]
  /** Older calls are left out because there are too many records. */
  readonly cutBeforeMs: number | undefined
}

/**
 * Returns the totals of each group. A call with several tags counts in each.
 *
 * @param top how many end users, sessions or tags to list, by cost; the rest is `(other)`, including calls
 *   without a name. With several of these groupings it limits the first, in the order of `attributionNames`
 */
export async function usageTotals (
  query: Kysely<Tables>,
  sinceMs: number,
  by: readonly Grouping[],
  top = defaultTop
): Promise<Totals> {
  const nowMs = Date.now()
  const period = { fromMs: sinceMs, untilMs: nowMs }
  const plan = await planParts(query, { period, origin: {}, by, smallestMs: dayMs, nowMs })
  const [kind] = namesIn(by)
  const listed = kind && await highestGroups(query, plan, kind, top)
  const columns = { ...groupColumns, ...listed?.more === true && { [listed.by]: nameSql(listed) } }
  const names = sql.join(by.map(grouping => sql`${sql.ref(`by_${grouping}`)} nulls last`))
  const rows = await usageParts(
    query,
    listed === undefined ? plan : withListedGroups(plan, listed),
    Object.values(sums)
  )
    .select(by.map(grouping => columns[grouping].as(`by_${grouping}`)))
    .select(Object.entries(sums).map(([name, column]) => sql<number>`sum(${sql.ref(column)})`.as(name)))
    .groupBy(by.map(grouping => sql.ref(`by_${grouping}`))).having(sql<number>`sum(calls)`, '>', 0)
    .orderBy(
      by.includes('day')
        ? sql`by_day`
        : sql`sum(record.cost_nano_usd) desc, sum(record.calls) desc, ${names}`
    )
    .execute()
  const keys = by.includes('key') ? await keyNames(query) : new Map<string, string>()
  const totals = rows.map(row => {
    const values = row as unknown as Record<string, string | number | null> // columns as named above
    const shown = (grouping: Grouping): string | null => {
      const value = values[`by_${grouping}`] ?? null
      if (value === null) return null
      return grouping === 'day' ? dayText(Number(value)) : keys.get(String(value)) ?? String(value)
    }
    return {
      group: Object.fromEntries(by.map(grouping => [grouping, shown(grouping)])),
      sums: Object.fromEntries(
        Object.keys(sums).map(name => [name, values[name]])
      ) as unknown as Sums
    }
  })
  return { totals, cutBeforeMs: plan.cutBeforeMs }
}

/** Returns the SQL of a name; names that are not listed become "other". */
function nameSql (listed: ListedGroups): RawBuilder<string | null> {
  return sql`nullif(coalesce(${groupOf(listed)}, ${otherNames}), '')`
}

const groupColumns: Readonly<Record<Grouping, RawBuilder<unknown>>> = {
  key: sql.ref('record.key_id'),
  model: sql`nullif(record.model, '')`,
  provider: sql`nullif(record.provider, '')`,
  endpoint: sql.ref('record.endpoint'),
  day: sql`record.from_ms - record.from_ms % ${sql.lit(dayMs)}`,
  end_user: sql`nullif(record.end_user, '')`,
  session: sql`nullif(record.session, '')`,
  tag: sql`nullif(record.tag, '')`
}

/** Reads the names of stored keys; configured keys have their name in their id. */
async function keyNames (query: Kysely<Tables>): Promise<Map<string, string>> {
  const keys = await query.selectFrom('keys').select(['id', 'name']).execute()
  return new Map(keys.map(({ id, name }) => [id, name]))
}
