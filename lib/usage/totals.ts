/** Sums of the usage ledger, by key, model, provider, endpoint or day. */

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { dayMs, dayText } from './day.ts'
import type { Tables } from '../stores/tables.ts'

export const groupings = ['key', 'model', 'provider', 'endpoint', 'day'] as const
export type Grouping = typeof groupings[number]

/** Columns to add up; values that were not reported count as nothing. */
const summed = [
  'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'pages', 'audio_ms', 'characters',
  'images', 'cache_write_tokens', 'searches', 'cost_nano_usd'
] as const

export interface Sums extends Readonly<Record<typeof summed[number], number>> {
  readonly calls: number
  /** Calls that ended with an error, a refusal included, or with their process. */
  readonly failed: number
  /** Calls whose client disconnected. */
  readonly cancelled: number
  /** Calls of unknown cost: their model has no price. */
  readonly unpriced: number
  /** Calls whose cost is an estimate. */
  readonly estimated: number
}

export interface Total {
  /** Values of the groupings, in the order of the request: names of keys, ids of models, days. */
  readonly group: Readonly<Partial<Record<Grouping, string | null>>>
  readonly sums: Sums
}

/** Adds up each group: highest cost first, or in the order of days. */
export async function usageTotals (query: Kysely<Tables>, sinceMs: number, by: readonly Grouping[]): Promise<Total[]> {
  const count = (condition: RawBuilder<unknown>, name: string) => sql<number>`count(case when ${condition} then 1 end)`.as(name)
  const rows = await query.selectFrom('usage').where('at_ms', '>=', sinceMs)
    .select(by.map(grouping => columns[grouping].as(grouping)))
    .select([
      sql<number>`count(*)`.as('calls'),
      count(sql`outcome in ('error', 'interrupted')`, 'failed'),
      count(sql`outcome = 'client_closed'`, 'cancelled'),
      count(sql`cost_nano_usd is null`, 'unpriced'),
      count(sql`estimated = 1 and cost_nano_usd > 0`, 'estimated'),
      ...summed.map(name => sql<number>`coalesce(sum(${sql.ref(name)}), 0)`.as(name))
    ])
    .groupBy(by.map(grouping => columns[grouping]))
    .orderBy(by.includes('day') ? columns.day : sql`cost_nano_usd desc, calls desc, ${sql.join(by.map(grouping => sql`${columns[grouping]} nulls last`))}`)
    .execute()
  const names = by.includes('key') ? await keyNames(query) : new Map<string, string>()
  return rows.map(row => {
    const values = row as unknown as Record<string, string | number | null> // by the names above
    const shown = (grouping: Grouping): string | null => {
      const value = values[grouping] ?? null
      if (value === null) return null
      return grouping === 'day' ? dayText(Number(value)) : names.get(String(value)) ?? String(value)
    }
    return {
      group: Object.fromEntries(by.map(grouping => [grouping, shown(grouping)])),
      sums: Object.fromEntries(Object.entries(values).filter(([name]) => !isGrouping(name))) as unknown as Sums
    }
  })
}

const columns: Readonly<Record<Grouping, RawBuilder<unknown>>> = {
  key: sql.ref('usage.key_id'),
  model: sql.ref('usage.model'),
  provider: sql.ref('usage.provider'),
  endpoint: sql.ref('usage.endpoint'),
  day: sql`usage.at_ms - usage.at_ms % ${sql.lit(dayMs)}`
}

function isGrouping (name: string): name is Grouping {
  return groupings.some(grouping => grouping === name)
}

/** Reads the names of stored keys; keys of the configuration have theirs in their id. */
async function keyNames (query: Kysely<Tables>): Promise<Map<string, string>> {
  const keys = await query.selectFrom('keys').select(['id', 'name']).execute()
  return new Map(keys.map(({ id, name }) => [id, name]))
}
