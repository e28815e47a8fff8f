/** The units that accounts count: what a usage record says a call used of each. */

import type { UsageRow } from '../stores/tables.ts'
import { accountsOf, limitedParties, type Unit } from './call-accounts.ts'
import type { RecordedUsage } from './counters.ts'
import type { ApiKey, KeyLimits } from '../core/key.ts'

/** Returns what a call used of each unit. Its first request was counted when it was reserved, and a call that has ended is not open. */
const usedOf: Readonly<Record<Unit, (row: UsageRow) => number>> = {
  requests: ({ attempts }) => Math.max(0, attempts - 1),
  tokens: ({ prompt_tokens: prompt, completion_tokens: completion }) => (prompt ?? 0) + (completion ?? 0),
  calls: () => 0,
  images: ({ images }) => images ?? 0,
  nanoUsd: ({ cost_nano_usd: nanoUsd }) => nanoUsd ?? 0
}

/** Returns what the call of a usage record used. */
export function usedIn (row: UsageRow): Record<Unit, number> {
  return Object.fromEntries(Object.entries(usedOf).map(([unit, used]) => [unit, used(row)])) as Record<Unit, number> // its keys are those
}

/** Returns what calls used by their usage records, with the accounts that they counted in. Calls of keys that are gone are left out. */
export function recordedUsages (
  rows: readonly UsageRow[], find: (keyId: string) => ApiKey | undefined, defaultLimits: KeyLimits | undefined
): RecordedUsage[] {
  return rows.flatMap(row => {
    const key = find(row.key_id)
    if (key === undefined) return []
    const accounts = accountsOf(limitedParties(key, defaultLimits))
    return [{ row: { id: row.id, atMs: row.at_ms }, used: usedIn(row), accounts }]
  })
}
