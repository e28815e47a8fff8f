/** Converts limits of keys between the form of the admin API and that of the store. */

import type { Static } from 'typebox'
import type { BudgetConfig, PartyLimitsConfig } from '../../schemas/config/keys.ts'
import { GatewayError } from '../core/errors.ts'
import { budgetProblems } from './check-budgets.ts'
import { limitFields } from '../limits/limit-table.ts'
import type { Budget, PartyLimits } from '../core/key.ts'

/** @throws GatewayError `invalid_value` for contradictory budgets */
export function toPartyLimits (wanted: Static<typeof PartyLimitsConfig>): PartyLimits {
  const [problem] = budgetProblems(wanted)
  if (problem !== undefined) {
    const param = ['limits', ...problem.path].join('.')
    throw new GatewayError('invalid_value', { param, message: `\`${param}\` ${problem.message}.` })
  }
  const { budget, budgets, strict } = wanted
  return {
    ...Object.fromEntries(
      limitFields.flatMap(({ name, property }) =>
        wanted[name] === undefined ? [] : [[property, wanted[name]]]
      )
    ),
    ...budget !== undefined && { budget: toBudget(budget) },
    ...budgets !== undefined && { budgets: budgets.map(toBudget) },
    ...strict !== undefined && { strict }
  }
}

export function fromPartyLimits (limits: PartyLimits): Static<typeof PartyLimitsConfig> {
  const { budget, budgets, strict } = limits
  return {
    ...Object.fromEntries(
      limitFields.flatMap(({ name, property }) =>
        limits[property] === undefined ? [] : [[name, limits[property]]]
      )
    ),
    ...budget !== undefined && { budget: fromBudget(budget) },
    ...budgets !== undefined && { budgets: budgets.map(fromBudget) },
    ...strict !== undefined && { strict }
  }
}

function toBudget ({ time_zone: timeZone, ...budget }: Static<typeof BudgetConfig>): Budget {
  return {
    ...budget.every === undefined && { per: 'month' },
    ...budget,
    ...timeZone !== undefined && { timeZone }
  }
}

function fromBudget ({ timeZone, ...budget }: Budget): Static<typeof BudgetConfig> {
  return { ...budget, ...timeZone !== undefined && { time_zone: timeZone } }
}
