/** Reads the limits of a key, a team or a user of LiteLLM, and the spending of its budgets. */

import { readBudget, type BudgetClock, type LitellmBudget, type ReadBudget } from './litellm-budgets.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { isEmpty, amountOf, objectOrEmpty } from './values.ts'
import { nonEmptyText } from '../json/type-guards.ts'
import type { TableRow } from './column-plan.ts'
import type { ImportedSpending } from '../accounts/imported-organisation.ts'
import type { PartyLimits } from '../core/key.ts'

export interface ReadLimits {
  readonly limits?: PartyLimits
  /** True if a limit is 0: nothing is allowed. */
  readonly isNothing: boolean
  readonly spent: readonly ImportedSpending[]
}

export interface LimitSources {
  /** The row of `LiteLLM_BudgetTable` whose limits apply if the row itself has none. */
  readonly shared?: TableRow | undefined
  /** Returns the dollars that were spent in the running period of one of `budget_limits`. */
  readonly spentIn: (duration: string) => number
  readonly clock: BudgetClock
}

/** Columns of limits that are one number. */
export const countedColumns = [
  ['rpm_limit', 'requestsPerMinute', 'requests a minute, also those of further attempts'],
  ['tpm_limit', 'tokensPerMinute', 'tokens a minute'],
  ['max_parallel_requests', 'concurrentCalls', 'concurrent calls']
] as const

const maxBudgets = 8

interface BudgetAt extends LitellmBudget {
  /** The column of the budget: `soft_budget` for one that only warns. */
  readonly column: 'max_budget' | 'budget_limits' | 'soft_budget'
}

export function readLimits (row: TableRow, sources: LimitSources): ReadLimits {
  const { amounts, isNothing } = readCounts(row, sources)
  const found = [...mainBudgets(row, sources), ...otherBudgets(row, sources)]
  const budgets: ReadBudget[] = []
  for (const each of found) {
    if (each.amount === 0) row.note(each.column, 'exact', nothing(each))
    else if (budgets.length < maxBudgets) {
      const read = readBudget(each, sources.clock)
      const isSoft = each.column === 'soft_budget'
      budgets.push(isSoft ? { ...read, budget: { ...read.budget, soft: true } } : read)
      row.note(each.column, read.verdict, isSoft ? `${read.note}, which only warns` : read.note)
    } else row.note(each.column, 'unsupported', `at most ${maxBudgets} budgets`)
  }
  const limits = { ...amounts, ...budgets.length > 0 && { budgets: budgets.map(({ budget }) => budget) } }
  return {
    ...!isEmpty(limits) && { limits },
    isNothing: isNothing || found.some(({ amount, column }) => amount === 0 && column !== 'soft_budget'),
    spent: budgets.map(({ spent }) => spent)
  }
}

function nothing ({ column }: BudgetAt): string {
  return column === 'soft_budget'
    ? 'it warns about everything: set a lower one here'
    : 'revoked: nothing may be spent'
}

function readCounts (
  row: TableRow,
  { shared }: LimitSources
): { readonly amounts: PartyLimits, readonly isNothing: boolean } {
  const amounts: Record<string, number> = {}
  let isNothing = false
  for (const [column, member, what] of countedColumns) {
    const value = row.number(column) ?? shared?.number(column)
    if (value === undefined) continue
    if (value < 1) isNothing = true
    else amounts[member] = Math.floor(value)
    row.note(column, 'exact', value < 1 ? 'revoked: none are allowed' : what)
  }
  return { amounts, isNothing }
}

/** Returns the budgets toward which `spend` counts: the one that refuses, and the one that warns. */
function mainBudgets (row: TableRow, { shared }: LimitSources): BudgetAt[] {
  const periodColumns = ['budget_duration', 'budget_reset_at']
  const own = row.number('max_budget')
  const amount = own ?? shared?.number('max_budget')
  const soft = row.number('soft_budget') ?? shared?.number('soft_budget')
  if (amount === undefined && soft === undefined) {
    for (const column of ['spend', ...periodColumns]) {
      if (row.number(column) === 0) continue
      row.note(column, 'approximate', 'no budget of its own counts it; it stays in LiteLLM')
    }
    return []
  }
  const source = own === undefined || row.text('budget_duration') === undefined ? shared ?? row : row
  for (const column of periodColumns) row.note(column, 'exact', 'the period of the budget')
  row.note('spend', 'exact', 'counts in the budget')
  const period = {
    duration: source.text('budget_duration'),
    resetAtMs: source.time('budget_reset_at'),
    spent: row.number('spend') ?? 0
  }
  return [
    ...amount === undefined ? [] : [{ column: 'max_budget' as const, amount, ...period }],
    ...soft === undefined ? [] : [{ column: 'soft_budget' as const, amount: soft, ...period }]
  ]
}

/** Returns the budgets with separate amounts and periods. */
function otherBudgets (row: TableRow, { spentIn }: LimitSources): BudgetAt[] {
  return row.list('budget_limits').map(objectOrEmpty).flatMap(entry => {
    const [amount, duration] = [amountOf(entry['max_budget']), nonEmptyText(entry['budget_duration'])]
    if (amount === undefined || duration === undefined) return []
    const resetAtMs = parseIsoDate(nonEmptyText(entry['reset_at']) ?? '')
    return [{
      column: 'budget_limits' as const,
      amount,
      duration,
      ...!Number.isNaN(resetAtMs) && { resetAtMs },
      spent: spentIn(duration)
    }]
  })
}
