/**
 * Reads the spending of a key, a project or a member: against its first budget or, without one, this month.
 */

import type { Kysely } from 'kysely'
import type { Budget, PartyLimits } from '../core/key.ts'
import { budgetsIn } from '../limits/call-accounts.ts'
import { periodAt, windowOfBudget } from '../limits/windows.ts'
import type { Tables } from '../stores/tables.ts'
import { usedBetween } from '../usage/spending.ts'

export interface Spent {
  /** In the current period of the first budget; without one, since the beginning of the month in UTC. */
  readonly usd: number
  /** True if a budget that refuses calls is used up. */
  readonly isExhausted: boolean
}

/** A strict budget refuses calls that could exceed it, so up to this share of it remains unspent. */
export const leftover = 0.001

/** @param party a name made by `counterName` of `limits/sum-keys` */
export async function spentOf (
  query: Kysely<Tables>, party: string, limits: PartyLimits = {}
): Promise<Spent> {
  const now = Date.now()
  const spentIn = async (budget: Budget): Promise<number> => {
    const { fromMs, endMs } = periodAt(windowOfBudget(budget), now)
    return await usedBetween(query, 'nanoUsd', party, fromMs, endMs) / 1e9
  }
  const budgets = budgetsIn(limits)
  const counted: readonly Budget[] = budgets.length === 0 ? [{ usd: Infinity, per: 'month' }] : budgets
  const spent = await Promise.all(counted.map(spentIn))
  return {
    usd: spent[0] ?? 0,
    isExhausted: counted.some(({ usd, soft }, index) => (
      soft !== true && (spent[index] ?? 0) >= usd * (1 - leftover)
    ))
  }
}
