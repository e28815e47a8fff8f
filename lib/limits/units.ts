/** The units that accounts count: what a usage record says a call used of each. */

import { recordedInsteadOfTokens, type ColumnInsteadOfTokens } from '../../schemas/billed-units.ts'
import { amountOf, type Units } from '../core/usage.ts'
import type { UsageRow } from '../stores/tables.ts'
import { accountsOf, limitedParties, type Unit } from './call-accounts.ts'
import type { RecordedUsage, Wanted } from './counters.ts'
import type { Estimate } from './estimate.ts'
import type { NamedBudgets } from './named-budgets.ts'
import type { ApiKey, KeyLimits } from '../core/key.ts'

/**
 * Returns what a call used of each unit. Its first request was counted when it was reserved, and a call that
 * has ended is not open.
 */
const usedOf: Readonly<Record<Unit, (row: UsageRow) => number>> = {
  requests: ({ attempts }) => Math.max(0, attempts - 1),
  tokens: ({ prompt_tokens: prompt, completion_tokens: completion }) => (prompt ?? 0) + (completion ?? 0),
  calls: () => 0,
  nanoUsd: ({ cost_nano_usd: nanoUsd }) => nanoUsd ?? 0,
  ...(Object.fromEntries(
    recordedInsteadOfTokens.map(({ column }) => [column, (row: UsageRow) => row[column] ?? 0])
  ) as Record<ColumnInsteadOfTokens, (row: UsageRow) => number>)
}

/** Returns what the call of a usage record used. */
export function usedIn (row: UsageRow): Record<Unit, number> {
  const amounts: Partial<Record<Unit, number>> = {}
  for (const unit in usedOf) amounts[unit as Unit] = usedOf[unit as Unit](row)
  return amounts as Record<Unit, number> // the keys of `usedOf` are all units
}

/**
 * Returns what a request wants of the units that are billed in place of tokens, or that a tool makes beside
 * them; nothing of those that it does not use.
 */
export function wantedUnits ({
  units,
  maxUnits = units,
  minUnits = maxUnits,
  toolImages = 0
}: Estimate): Partial<Record<ColumnInsteadOfTokens, Wanted>> {
  const wanted: Partial<Record<ColumnInsteadOfTokens, Wanted>> = {}
  if (toolImages > 0) wanted.images = { most: toolImages }
  if (units === undefined) return wanted
  for (const { name, column, parts } of recordedInsteadOfTokens) {
    const amountIn = (of: Units | undefined): number =>
      Math.ceil((amountOf(name, undefined, of) ?? 0) * parts)
    const most = amountIn(maxUnits)
    if (most > 0) wanted[column] = { most, least: amountIn(minUnits), usual: amountIn(units) }
  }
  return wanted
}

/**
 * Returns true for a unit that is billed in place of tokens. A call that uses none of it passes its limit
 * even when the limit is used up.
 */
export function isInsteadOfTokens (unit: Unit): unit is ColumnInsteadOfTokens {
  return recordedInsteadOfTokens.some(({ column }) => column === unit)
}

/**
 * Returns what calls used by their usage records, with the accounts that they counted in. Calls of keys that
 * are gone are left out.
 */
export function recordedUsages (
  rows: readonly UsageRow[],
  find: (keyId: string) => ApiKey | undefined,
  defaultLimits: KeyLimits | undefined,
  named?: Pick<NamedBudgets, 'recorded'>
): RecordedUsage[] {
  return rows.flatMap(row => {
    const key = find(row.key_id)
    if (key === undefined) return []
    const others = named?.recorded(row.parties) ?? []
    const accounts = accountsOf([...limitedParties(key, defaultLimits), ...others])
    return [{ row: { id: row.id, atMs: row.at_ms }, used: usedIn(row), accounts }]
  })
}
