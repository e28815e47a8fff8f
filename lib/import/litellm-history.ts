/**
 * Reads LiteLLM's sums by day, key and model. LiteLLM adds up the same calls by user, by team, by tag and
 * others. The sums by user are complete except for keys without a user, whose sums by team are read.
 */

import { parseIsoDate } from '../core/parse-iso-date.ts'
import { amountOf } from './values.ts'
import { litellmProviders } from '../models/litellm-providers.ts'
import type { ColumnPlan } from './column-plan.ts'
import type { ImportedDay } from '../accounts/imported-organisation.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { SummedTable } from '../stores/postgres/read-foreign-tables.ts'

const sums = {
  calls: 'api_requests',
  promptTokens: 'prompt_tokens',
  completionTokens: 'completion_tokens',
  cachedTokens: 'cache_read_input_tokens',
  cacheWriteTokens: 'cache_creation_input_tokens'
} as const satisfies Partial<Record<keyof ImportedDay, string>>

const byDay: SummedTable = {
  by: ['date', 'api_key', 'model', 'custom_llm_provider'],
  sums: [...Object.values(sums), 'spend']
}

/** The tables; the first one takes precedence if both have a day of a key. */
export const historyTables: ReadonlyMap<string, SummedTable> = new Map([
  ['LiteLLM_DailyUserSpend', byDay],
  ['LiteLLM_DailyTeamSpend', byDay]
])

/** Returns the days of each key, by its digest in hex. */
export function readHistory (
  rows: ReadonlyMap<string, readonly JsonObject[]>
): ReadonlyMap<string, readonly ImportedDay[]> {
  const histories = new Map<string, Map<string, ImportedDay>>()
  const complete = new Set<string>()
  for (const table of historyTables.keys()) {
    const seen = new Set<string>()
    for (const row of rows.get(table) ?? []) {
      const [date = '', key = ''] = [nonEmptyText(row['date']), nonEmptyText(row['api_key'])]
      const atMs = parseIsoDate(date)
      const dayOfKey = `${date} ${key}`
      if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(atMs) || complete.has(dayOfKey)) continue
      seen.add(dayOfKey)
      const days = histories.get(key) ?? new Map<string, ImportedDay>()
      histories.set(key, days)
      const day = readDay(row, atMs)
      const name = JSON.stringify([atMs, day.model, day.provider])
      days.set(name, sumOf(day, days.get(name)))
    }
    for (const each of seen) complete.add(each)
  }
  return new Map([...histories].map(([key, days]) => [key, [...days.values()]]))
}

/** Records the outcome for the tables. */
export function noteHistory (
  rows: ReadonlyMap<string, readonly JsonObject[]>,
  tokens: ReadonlySet<string>,
  plan: ColumnPlan
): void {
  for (const table of historyTables.keys()) {
    const keys = (rows.get(table) ?? []).map(row => nonEmptyText(row['api_key']) ?? '')
    const gone = new Set(keys.filter(key => !tokens.has(key)))
    if (keys.length > gone.size) {
      const note = 'by day, key and model; errors and tags stay there'
      plan.note(table, `${keys.length} sums`, 'approximate', note)
    }
    if (gone.size > 0) {
      const note = 'keys that are not imported: their days stay there'
      plan.note(`${table}.api_key`, `${gone.size} keys`, 'approximate', note)
    }
  }
}

function readDay (row: JsonObject, atMs: number): ImportedDay {
  const amount = (column: string): number => Math.round(amountOf(row[column]) ?? 0)
  const provider = nonEmptyText(row['custom_llm_provider']) ?? ''
  const kind = litellmProviders.get(provider)
  const prefix = kind === undefined || kind.baseUrl !== undefined ? provider : kind.kind
  const model = nonEmptyText(row['model']) ?? 'unknown'
  const isPrefixed = prefix === '' || model.startsWith(`${prefix}/`)
  const bare = model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model
  return {
    atMs,
    model: isPrefixed ? model : `${prefix}/${bare}`,
    provider: prefix,
    calls: amount(sums.calls),
    promptTokens: amount(sums.promptTokens),
    completionTokens: amount(sums.completionTokens),
    cachedTokens: amount(sums.cachedTokens),
    cacheWriteTokens: amount(sums.cacheWriteTokens),
    nanoUsd: Math.round((amountOf(row['spend']) ?? 0) * 1e9)
  }
}

/** Adds two entries of one day: names that differ at LiteLLM may be the same here. */
function sumOf (day: ImportedDay, other: ImportedDay | undefined): ImportedDay {
  if (other === undefined) return day
  return {
    ...day,
    calls: day.calls + other.calls,
    promptTokens: day.promptTokens + other.promptTokens,
    completionTokens: day.completionTokens + other.completionTokens,
    cachedTokens: day.cachedTokens + other.cachedTokens,
    cacheWriteTokens: day.cacheWriteTokens + other.cacheWriteTokens,
    nanoUsd: day.nanoUsd + other.nanoUsd
  }
}
