/** Checks rules of budgets that the schema cannot express. */

import { parseIsoDate } from '../core/parse-iso-date.ts'
import { isTimeZone } from '../limits/windows.ts'
import type { Static } from 'typebox'
import type { PartyLimitsConfig } from '../../schemas/config/keys.ts'

export interface BudgetProblem {
  /** The path to the entry: names and indexes. */
  readonly path: ReadonlyArray<string | number>
  /** Appended to the name of the entry. */
  readonly message: string
}

/** Finds errors in the budgets of limits, whose schema has been checked. */
export function budgetProblems ({
  budget,
  budgets
}: Pick<Static<typeof PartyLimitsConfig>, 'budget' | 'budgets'>): BudgetProblem[] {
  const problems: BudgetProblem[] = []
  if (budget !== undefined && budgets !== undefined) {
    problems.push({
      path: ['budgets'],
      message: 'cannot be set together with `budget`: put all budgets into `budgets`'
    })
  }
  const all = [
    ...(budget === undefined ? [] : [{ path: ['budget'], budget }]),
    ...(budgets ?? []).map((each, index) => ({ path: ['budgets', index], budget: each }))
  ]
  for (const {
    path,
    budget: { per, every, from, time_zone: timeZone }
  } of all) {
    if (every !== undefined && per !== undefined) {
      problems.push({ path: [...path, 'every'], message: 'cannot be set together with `per`: choose one' })
    }
    if (every !== undefined && from === undefined) {
      problems.push({
        path: [...path, 'every'],
        message: 'needs `from`, the time at which one of these periods begins, such as 2030-01-31T00:00:00Z'
      })
    }
    if (every === undefined && from !== undefined) {
      problems.push({
        path: [...path, 'from'],
        message: 'needs `every`, the length of a period, such as 30d'
      })
    }
    if (from !== undefined && Number.isNaN(parseIsoDate(from))) {
      problems.push({ path: [...path, 'from'], message: 'is not a time that exists' })
    }
    if (timeZone !== undefined && every !== undefined) {
      problems.push({
        path: [...path, 'time_zone'],
        message: 'has no meaning with `every`, whose `from` has an offset'
      })
    }
    if (timeZone !== undefined && !isTimeZone(timeZone)) {
      problems.push({
        path: [...path, 'time_zone'],
        message: 'is not a known time zone, such as Europe/Berlin'
      })
    }
  }
  return problems
}
