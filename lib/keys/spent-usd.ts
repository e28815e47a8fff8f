import type { Kysely } from 'kysely'
import type { KeyLimits } from '../core/key.ts'
import { budgetsIn } from '../limits/call-accounts.ts'
import { periodOf, windowOfBudget } from '../limits/windows.ts'
import type { Tables } from '../stores/tables.ts'
import { usedSince } from '../usage/spending.ts'

/**
 * Returns what a key or a project has spent in the current period of its first budget, in dollars.
 *
 * @returns `null` without a budget
 */
export async function spentUsd (query: Kysely<Tables>, id: string, limits: KeyLimits = {}): Promise<number | null> {
  const [budget] = budgetsIn(limits)
  if (budget === undefined) return null
  const now = Date.now()
  return await usedSince(query, 'nanoUsd', id, periodOf(windowOfBudget(budget), now).fromMs, now) / 1e9
}
