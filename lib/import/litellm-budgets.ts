/**
 * Reads the budgets of LiteLLM: their amounts, their periods, and what was spent in the one that runs.
 *
 * Its periods end at a time in the table; the next one is computed by `duration_parser.py`: days, weeks
 * (`7d`) and months (`30d`) follow the calendar of `litellm_settings.timezone`, other lengths begin anew at
 * the end of the last one.
 */

import { dayMs } from '../core/day.ts'
import { budgetText, type Budget } from '../core/key.ts'
import { periodAt, isTimeZone, windowOfBudget } from '../limits/windows.ts'
import type { ImportedSpending } from '../accounts/imported-organisation.ts'
import { objectOrEmpty } from './values.ts'
import { nonEmptyText, type JsonObject } from '../json/type-guards.ts'
import type { Verdict } from './plan.ts'

/** When periods end. */
export interface BudgetClock {
  readonly nowMs: number
  readonly timeZone: string
  /** True unless `budget_reset_time` is another hour. */
  readonly endsAtMidnight: boolean
}

export interface LitellmBudget {
  /** Dollars. */
  readonly amount: number
  readonly duration?: string | undefined
  readonly resetAtMs?: number | undefined
  /** Dollars spent in the period that ends at `resetAtMs`. */
  readonly spent: number
}

export interface ReadBudget {
  readonly budget: Budget
  readonly verdict: Verdict
  readonly note: string
  /** The amount spent in the current period here. */
  readonly spent: ImportedSpending
}

/** Returns when periods end, according to the proxy's settings. */
export function budgetClock (document: JsonObject, nowMs: number): BudgetClock {
  const { timezone, budget_reset_time: resetTime } = objectOrEmpty(document['litellm_settings'])
  return {
    nowMs,
    timeZone: nonEmptyText(timezone) ?? 'UTC',
    endsAtMidnight: /^0?0(?::00){0,2}$/.test(nonEmptyText(resetTime) ?? '0')
  }
}

const aliases: Readonly<Record<string, string>> = { hourly: '1h', daily: '1d', weekly: '7d', monthly: '30d' }
/** Calendar lengths. */
const calendar: Readonly<Record<string, Budget['per']>> = {
  '1h': 'hour',
  '60m': 'hour',
  '24h': 'day',
  '1d': 'day',
  '7d': 'week',
  '1w': 'week',
  '30d': 'month',
  '1mo': 'month'
}
const maxUsd = 1_000_000

/** Returns the budget in its form here. An amount of 0, which refuses every call, is not a budget. */
export function readBudget (wanted: LitellmBudget, clock: BudgetClock): ReadBudget {
  const { budget, verdict, why } = inPeriods(wanted, clock)
  const { fromMs, endMs } = periodAt(windowOfBudget(budget), clock.nowMs)
  // LiteLLM sets what was spent to 0 some time after the end of a period
  const isOver = wanted.resetAtMs !== undefined && wanted.resetAtMs <= clock.nowMs
  const isSame = wanted.resetAtMs === undefined || isOver || wanted.resetAtMs === endMs
  const difference = why ?? (isSame ? [] : ['from the end of the current period there'])
  return {
    budget,
    verdict: isSame ? verdict : 'approximate',
    note: [budgetText(budget), ...difference].join(', '),
    spent: { fromMs, nanoUsd: isOver ? 0 : Math.round(wanted.spent * 1e9) }
  }
}

interface InPeriods {
  readonly budget: Budget
  readonly verdict: Verdict
  readonly why?: readonly string[]
}

function inPeriods (
  { amount, duration, resetAtMs }: LitellmBudget,
  { timeZone, endsAtMidnight, nowMs }: BudgetClock
): InPeriods {
  // a model without a price costs nothing there
  const common = { usd: Math.min(amount, maxUsd), unpriced: 'allow' } as const
  if (duration === undefined) return { budget: { ...common, per: 'total' }, verdict: 'exact' }
  const length = aliases[duration.trim().toLowerCase()] ?? duration.trim()
  const per = calendar[length]
  const isShifted = !endsAtMidnight && per !== 'hour' && length !== '24h'
  if (per !== undefined && !isShifted) {
    const zone = timeZone !== 'UTC' && isTimeZone(timeZone) ? { timeZone } : {}
    return { budget: { ...common, per, ...zone }, verdict: 'exact' }
  }
  const [, count = '', unit = ''] = /^(\d{1,4})(s|m|h|d|w|mo)$/.exec(length) ?? []
  const from = new Date(resetAtMs ?? nowMs - nowMs % dayMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const every = per === 'week' ? '7d' : lengthOf(Number(count), unit)
  if (every === undefined || per === 'month') {
    return {
      budget: { ...common, per: per ?? 'day' },
      verdict: 'approximate',
      why: [`for \`${duration}\``]
    }
  }
  const isUneven =
    (unit === 'h' && 24 % Number(count) !== 0) || ('sm'.includes(unit) && 60 % Number(count) !== 0)
  const isExact = unit !== 'mo' && !isUneven && (timeZone === 'UTC' || 'smh'.includes(unit))
  return {
    budget: { ...common, every, from },
    verdict: isExact ? 'exact' : 'approximate',
    ...!isExact && { why: [`for \`${duration}\``] }
  }
}

/** Returns a length in units of ours. */
function lengthOf (count: number, unit: string): string | undefined {
  if (!(count > 0)) return undefined
  if (unit === 'w') return `${count * 7}d`
  if (unit === 'mo') return `${count * 30}d`
  return `${count}${unit}`
}

/**
 * Spreads what a party has spent over the beginnings of its periods, so that each budget finds in its period
 * what LiteLLM counted in it.
 *
 * @param createdAtMs the time for what was spent in total
 * @param countedSince returns what others bring that counts in the same budgets from a moment on
 */
export function spreadSpending (
  spent: readonly ImportedSpending[],
  createdAtMs: number,
  countedSince: (fromMs: number) => number = () => 0
): ImportedSpending[] {
  const placed: ImportedSpending[] = []
  const most = new Map<number, number>()
  for (const { fromMs, nanoUsd } of spent) most.set(fromMs, Math.max(nanoUsd, most.get(fromMs) ?? 0))
  let sum = 0
  let earliestMs = Infinity
  for (const [fromMs, nanoUsd] of [...most].toSorted(([a], [b]) => b - a)) {
    const rest = nanoUsd - sum - countedSince(fromMs)
    const atMs = fromMs === 0 ? Math.min(createdAtMs, earliestMs - dayMs) : fromMs
    earliestMs = Math.min(earliestMs, atMs)
    sum += rest
    if (rest !== 0) placed.push({ fromMs: atMs, nanoUsd: rest })
  }
  return placed
}
