/** Limits as a form stores them: texts; an empty one means no limit. */

import type { Static } from 'typebox'
import { countedLimitNames, type CountedLimitName } from '../../../../schemas/config/counted-limits.ts'
import type { BudgetConfig, PartyLimitsConfig } from '../../../../schemas/config/keys.ts'

export type Limits = Static<typeof PartyLimitsConfig>
export type Budget = Static<typeof BudgetConfig>
export type BudgetPeriod = NonNullable<Budget['per']>

export interface BudgetDraft {
  readonly usd: string
  /** `every`: a custom length. */
  readonly per: BudgetPeriod | 'every'
  readonly every: string
  readonly from: string
  readonly timeZone: string
  readonly allowUnpriced: boolean
  /** True for a budget that only warns. */
  readonly soft: boolean
}

export interface LimitsDraft {
  readonly counts: Readonly<Record<CountedLimitName, string>>
  /** At least one, possibly empty. */
  readonly budgets: readonly BudgetDraft[]
  readonly strict: boolean
}

export const emptyBudget: BudgetDraft = {
  usd: '',
  per: 'month',
  every: '',
  from: '',
  timeZone: '',
  allowUnpriced: false,
  soft: false
}

export function draftLimits (limits: Limits | null): LimitsDraft {
  const budgets = budgetsOf(limits)
  return {
    // its keys are those
    counts: Object.fromEntries(
      countedLimitNames.map(name => [name, String(limits?.[name] ?? '')])
    ) as LimitsDraft['counts'],
    budgets: budgets.length === 0 ? [emptyBudget] : budgets.map(draftBudget),
    strict: limits?.strict ?? true
  }
}

export function budgetsOf (limits: Limits | null): readonly Budget[] {
  return limits?.budgets ?? (limits?.budget === undefined ? [] : [limits.budget])
}

function draftBudget ({
  usd,
  per = 'month',
  every,
  from = '',
  time_zone: timeZone = '',
  unpriced,
  soft = false
}: Budget): BudgetDraft {
  return {
    usd: String(usd),
    per: every === undefined ? per : 'every',
    every: every ?? '',
    from,
    timeZone,
    allowUnpriced: unpriced === 'allow',
    soft
  }
}

/** Returns `null` where nothing is limited. */
export function limitsOf ({ counts, budgets: drafts, strict }: LimitsDraft): Limits | null {
  const budgets = drafts.filter(({ usd }) => usd !== '').map(budgetOf)
  const [first] = budgets
  const limits: Limits = {
    ...Object.fromEntries(
      countedLimitNames.flatMap(name => (counts[name] === '' ? [] : [[name, Number(counts[name])]]))
    ),
    ...budgets.length > 1 && { budgets },
    ...budgets.length === 1 && first !== undefined && { budget: first },
    ...first !== undefined && !strict && { strict: false }
  }
  return Object.keys(limits).length === 0 ? null : limits
}

function budgetOf ({ usd, per, every, from, timeZone, allowUnpriced, soft }: BudgetDraft): Budget {
  return {
    usd: Number(usd),
    ...per === 'every' ? { every: every.trim(), from: from.trim() } : { per },
    ...per !== 'every' && per !== 'total' && timeZone.trim() !== '' && { time_zone: timeZone.trim() },
    ...allowUnpriced && { unpriced: 'allow' as const },
    ...soft && { soft: true }
  }
}

/** The most budgets that the API takes. */
export const maxBudgets = 8

const budgetFields = ['usd', 'per', 'every', 'from', 'time_zone'] as const satisfies ReadonlyArray<
  keyof Budget
>

/** The fields of limits that show their errors. */
export const limitFieldNames: readonly string[] = [
  ...['limits.budget', ...Array.from({ length: maxBudgets }, (_, place) => `limits.budgets.${place}`)]
    .flatMap(path => budgetFields.map(field => `${path}.${field}`)),
  ...countedLimitNames.map(name => `limits.${name}`)
]

/** Returns the path of a field of a budget in the errors of the API. */
export function budgetPath (
  { budgets }: LimitsDraft,
  place: number,
  field: (typeof budgetFields)[number]
): string {
  const sent = budgets.filter(({ usd }) => usd !== '')
  const index = budgets.slice(0, place).filter(({ usd }) => usd !== '').length
  return sent.length > 1 ? `limits.budgets.${index}.${field}` : `limits.budget.${field}`
}
