import type { Kysely } from 'kysely'
import type { KeyLimits } from '../core/key.ts'
import { periodOf } from '../limits/budget.ts'
import type { Tables } from '../stores/tables.ts'
import { spendingOf } from '../usage/spending.ts'

/**
 * Returns what a key or a project has spent in the current period of its budget, in dollars.
 *
 * @returns `null` without a budget
 */
export async function spentUsd (query: Kysely<Tables>, id: string, { budget }: KeyLimits = {}): Promise<number | null> {
  if (budget === undefined) return null
  const now = Date.now()
  return await spendingOf(query, id, periodOf(budget.per, now).fromMs, now) / 1e9
}
