/** Limits as a form holds them: texts, of which the empty one means no limit. */

import type { Static } from 'typebox'
import { countedLimitNames, type CountedLimitName } from '../../../../schemas/config/counted-limits.ts'
import type { KeyLimitsConfig } from '../../../../schemas/config/keys.ts'

export type Limits = Static<typeof KeyLimitsConfig>
export type BudgetPeriod = NonNullable<NonNullable<Limits['budget']>['per']>

export interface LimitsDraft {
  readonly counts: Readonly<Record<CountedLimitName, string>>
  readonly budgetUsd: string
  readonly budgetPer: BudgetPeriod
  readonly allowUnpriced: boolean
  readonly strict: boolean
  /** What the form does not show, and keeps. */
  readonly kept: Pick<Limits, 'budget' | 'budgets'>
}

export function draftLimits (limits: Limits | null): LimitsDraft {
  const { budget, budgets } = limits ?? {}
  return {
    counts: Object.fromEntries(countedLimitNames.map(name => [name, String(limits?.[name] ?? '')])) as LimitsDraft['counts'], // its keys are those
    budgetUsd: String(budget?.usd ?? ''),
    budgetPer: budget?.per ?? 'month',
    allowUnpriced: budget?.unpriced === 'allow',
    strict: limits?.strict ?? true,
    kept: { ...budget !== undefined && { budget }, ...budgets !== undefined && { budgets } }
  }
}

/** Returns `null` where nothing is limited. */
export function limitsOf ({ counts, budgetUsd, budgetPer, allowUnpriced, strict, kept: { budget, budgets } }: LimitsDraft): Limits | null {
  const { time_zone: timeZone, every, from } = budget ?? {}
  const limits: Limits = {
    ...Object.fromEntries(countedLimitNames.flatMap(name => counts[name] === '' ? [] : [[name, Number(counts[name])]])),
    ...budgetUsd !== '' && {
      budget: {
        usd: Number(budgetUsd),
        ...every === undefined ? { per: budgetPer } : { every },
        ...from !== undefined && { from },
        ...timeZone !== undefined && { time_zone: timeZone },
        ...allowUnpriced && { unpriced: 'allow' as const }
      }
    },
    ...budgets !== undefined && { budgets },
    ...(budgetUsd !== '' || budgets !== undefined) && !strict && { strict: false }
  }
  return Object.keys(limits).length === 0 ? null : limits
}
