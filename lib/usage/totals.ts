/** Sums of the usage ledger, by one or more groupings. */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { byUnitColumn } from '../../schemas/billed-units.ts'
import type { Tables } from '../stores/tables.ts'
import type { RollupSum } from '../stores/usage-rollups.ts'
import { dayMs, dayText } from '../core/day.ts'
import { attributionNames } from '../../schemas/admin/usage.ts'
import { planParts } from './plan-parts.ts'
import { usageParts } from './usage-parts.ts'

export const groupings = ['key', 'model', 'provider', 'endpoint', 'day', ...attributionNames] as const
export type Grouping = typeof groupings[number]

/** The sums by the names under which they are printed; values that were not reported count as nothing. */
const sums = {
  calls: 'calls',
  failed: 'errors',
  cancelled: 'cancelled',
  unpriced: 'unpriced_calls',
  estimated: 'estimated_calls',
  ...byUnitColumn(({ column }) => column),
  cost_nano_usd: 'cost_nano_usd'
} as const satisfies Readonly<Record<string, RollupSum>>

export type Sums = Readonly<Record<keyof typeof sums, number>>

export interface Total {
  /** Values of the groupings, in the order of the request: names of keys, ids of models, days. */
  readonly group: Readonly<Partial<Record<Grouping, string | null>>>
  readonly sums: Sums
}

export interface Totals {
  /** Highest cost first, or in the order of days. */
  readonly totals: readonly Total[]
  /** The time before which calls are left out: there are too many records to read. */
  readonly cutBeforeMs: number | undefined
}

/** Adds up each group. A call with several tags counts in each. */
export async function usageTotals (
  query: Kysely<Tables>,
  sinceMs: number,
  by: readonly Grouping[]
): Promise<Totals> {
  const nowMs = Date.now()
  const period = { fromMs: sinceMs, untilMs: nowMs }
  const plan = await planParts(query, { period, origin: {}, by, smallestMs: dayMs, nowMs })
  const rows = await usageParts(query, plan)
    .select(by.map(grouping => columns[grouping].as(grouping)))
    .select(Object.entries(sums).map(([name, column]) => sql<number>`sum(${sql.ref(column)})`.as(name)))
    .groupBy(by.map(grouping => columns[grouping])).having(sql<number>`sum(calls)`, '>', 0)
    .orderBy(
      by.includes('day')
        ? columns.day
        : sql`sum(cost_nano_usd) desc, sum(calls) desc, ${sql.join(by.map(grouping => sql`${columns[grouping]} nulls last`))}`
    )
    .execute()
  const names = by.includes('key') ? await keyNames(query) : new Map<string, string>()
  const totals = rows.map(row => {
    const values = row as unknown as Record<string, string | number | null> // by the names above
    const shown = (grouping: Grouping): string | null => {
      const value = values[grouping] ?? null
      if (value === null) return null
      return grouping === 'day' ? dayText(Number(value)) : names.get(String(value)) ?? String(value)
    }
    return {
      group: Object.fromEntries(by.map(grouping => [grouping, shown(grouping)])),
      sums: Object.fromEntries(
        Object.entries(values).filter(([name]) => !isGrouping(name))
      ) as unknown as Sums
    }
  })
  return { totals, cutBeforeMs: plan.cutBeforeMs }
}

const columns: Readonly<Record<Grouping, RawBuilder<unknown>>> = {
  key: sql.ref('record.key_id'),
  model: sql`nullif(record.model, '')`,
  provider: sql`nullif(record.provider, '')`,
  endpoint: sql.ref('record.endpoint'),
  day: sql`record.from_ms - record.from_ms % ${sql.lit(dayMs)}`,
  end_user: sql`nullif(record.end_user, '')`,
  session: sql`nullif(record.session, '')`,
  tag: sql`nullif(record.tag, '')`
}

function isGrouping (name: string): name is Grouping {
  return groupings.some(grouping => grouping === name)
}

/** Reads the names of stored keys; keys of the configuration have theirs in their id. */
async function keyNames (query: Kysely<Tables>): Promise<Map<string, string>> {
  const keys = await query.selectFrom('keys').select(['id', 'name']).execute()
  return new Map(keys.map(({ id, name }) => [id, name]))
}
