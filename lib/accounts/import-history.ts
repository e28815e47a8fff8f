/**
 * Creates usage rows for the usage of keys at another gateway: one per day and model, of the endpoint
 * `import`. The sums of earlier imports show what is already stored, so that only the difference is added.
 */

import { dayMs } from '../core/day.ts'
import { dimensionsOf, importEndpoint } from '../stores/usage-rollups.ts'
import { emptyRow } from '../stores/usage-columns.ts'
import { rowId } from '../text/ids.ts'
import type { Within } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { ImportedDay, ImportedSpending } from './imported-organisation.ts'

/** Amounts of a day by the columns that hold them. */
const columns = {
  attempts: 'calls',
  prompt_tokens: 'promptTokens',
  completion_tokens: 'completionTokens',
  cached_tokens: 'cachedTokens',
  cache_write_tokens: 'cacheWriteTokens',
  cost_nano_usd: 'nanoUsd'
} as const satisfies Partial<Record<keyof UsageRow, keyof ImportedDay>>
type Column = keyof typeof columns

/**
 * Returns the usage rows that bring the stored usage of these keys to their usage at the source.
 *
 * @param histories days by the id of their key here
 */
export async function historyRows (
  query: Within['query'],
  histories: ReadonlyMap<string, readonly ImportedDay[]>
): Promise<UsageRow[]> {
  if (histories.size === 0) return []
  const present = await query
    .selectFrom('usage_rollups')
    .selectAll()
    .where('span_ms', '=', dayMs)
    .where('endpoint', '=', importEndpoint)
    .where('model', '!=', '')
    .execute()
  const known = new Map(present.map(row => {
    const { from_ms: fromMs, key_id: keyId, model, provider, endpoint, calls } = row
    return [rowKey(fromMs, [keyId, model, provider, endpoint]), { ...row, attempts: calls }]
  }))
  const names = Object.keys(columns) as Column[] // its keys are those
  const rows: UsageRow[] = []
  for (const [keyId, days] of histories) {
    for (const day of days) {
      const row = rowOf(keyId, day)
      const before = known.get(rowKey(day.atMs, dimensionsOf(row)))
      const added = names.map(column => [column, day[columns[column]] - (before?.[column] ?? 0)] as const)
      if (!added.some(([, amount]) => amount > 0)) continue
      const amounts = Object.fromEntries(added)
      // a row counts as at least one call
      rows.push({ ...row, ...amounts, attempts: Math.max(1, amounts['attempts'] ?? 1) })
    }
  }
  return rows
}

/**
 * Returns the spending that removes a key's history from current periods, for a key deleted at the source:
 * its project has counted it there.
 *
 * @param starts starts of periods
 */
export async function cancelledSpending (
  query: Within['query'],
  keyId: string,
  starts: readonly number[]
): Promise<ImportedSpending[]> {
  const days = await query
    .selectFrom('usage_rollups')
    .select(['from_ms', 'cost_nano_usd'])
    .where('span_ms', '=', dayMs)
    .where('key_id', '=', keyId)
    .where('endpoint', '=', importEndpoint)
    .where('model', '!=', '')
    .execute()
  const cancelled: ImportedSpending[] = []
  let sum = 0
  for (const fromMs of starts.toSorted((a, b) => b - a)) {
    const since = days.reduce((cost, day) => cost + (day.from_ms >= fromMs ? day.cost_nano_usd : 0), 0)
    if (since !== sum) cancelled.push({ fromMs, nanoUsd: sum - since })
    sum = since
  }
  return cancelled
}

function rowOf (keyId: string, { atMs, model, provider }: ImportedDay): UsageRow {
  return {
    ...emptyRow,
    id: rowId(),
    call_id: importEndpoint,
    at_ms: atMs,
    key_id: keyId,
    endpoint: importEndpoint,
    model,
    provider,
    outcome: 'ok',
    estimated: 0
  }
}

function rowKey (atMs: number, dimensions: readonly string[]): string {
  return JSON.stringify([atMs, ...dimensions])
}
