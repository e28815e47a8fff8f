/** Reads the budgets of Bifrost: calendar periods, or consecutive periods of a fixed length. */

import { budgetText, type Budget } from '../core/key.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { periodAt, windowOfBudget } from '../limits/windows.ts'
import { amountOf } from './values.ts'
import type { ImportedSpending } from '../accounts/imported-organisation.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { Verdict } from './plan.ts'

export interface BifrostBudget {
  readonly path: string
  /** Dollars; 0 refuses every call. */
  readonly amount: number
  readonly budget: Budget
  readonly verdict: Verdict
  readonly note: string
  /** The amount spent in the current period here. */
  readonly spent: ImportedSpending
}

export interface BudgetOrigin {
  readonly path: string
  /** True for periods of the calendar. */
  readonly isAligned: boolean
  readonly nowMs: number
}

const calendar: Readonly<Record<string, Budget['per']>> = {
  '1h': 'hour',
  '1d': 'day',
  '1w': 'week',
  '1M': 'month'
}
/** In Bifrost, a month has 30 days and a year 365. */
const daysOf: Readonly<Record<string, number>> = { w: 7, M: 30, Y: 365 }
const maxUsd = 1_000_000
/** The start of a period, if the file does not tell when the last one started. */
const someBeginning = '2024-01-01T00:00:00Z'

/** Returns the budget in its form here; `undefined` if it has no amount or an unknown length. */
export function readBifrostBudget (
  row: JsonObject,
  { path, isAligned, nowMs }: BudgetOrigin
): BifrostBudget | undefined {
  const amount = amountOf(row['max_limit'])
  const duration = nonEmptyText(row['reset_duration']) ?? ''
  const every = lengthOf(duration)
  if (amount === undefined || every === undefined) return undefined
  const resetMs = parseIsoDate(nonEmptyText(row['last_reset']) ?? '')
  const isKnown = !Number.isNaN(resetMs)
  const per = isAligned ? calendar[duration] : undefined
  const from = isKnown ? new Date(resetMs).toISOString().replace(/\.\d+Z$/, 'Z') : someBeginning
  // a model without a price costs nothing there
  const common = { usd: Math.min(amount, maxUsd), unpriced: 'allow' } as const
  const budget: Budget = per === undefined ? { ...common, every, from } : { ...common, per }
  const { fromMs } = periodAt(windowOfBudget(budget), nowMs)
  const isOver = isKnown && resetMs < fromMs - 999
  const isExact = per !== undefined || (!isAligned && isKnown)
  const difference = isAligned ? 'not a calendar period' : `in periods from ${someBeginning.slice(0, 10)} on`
  const text = amount === 0 ? 'revoked: nothing may be spent' : budgetText(budget)
  return {
    path,
    amount,
    budget,
    verdict: isExact || amount === 0 ? 'exact' : 'approximate',
    note: isExact || amount === 0 ? text : `${text}, ${difference}`,
    spent: { fromMs, nanoUsd: isOver ? 0 : Math.round((amountOf(row['current_usage']) ?? 0) * 1e9) }
  }
}

/** Returns a length in units of ours. */
function lengthOf (duration: string): string | undefined {
  const [, count = '', unit = ''] = /^([1-9]\d{0,3})(s|m|h|d|w|M|Y)$/.exec(duration) ?? []
  if (count === '') return undefined
  const days = daysOf[unit]
  const length = days === undefined ? duration : `${Number(count) * days}d`
  return /^\d{1,5}[smhd]$/.test(length) ? length : undefined
}
