/** The limits of a key or a project. */

import type { JSX } from 'preact'
import type { ApiError } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Check } from '../parts/check.tsx'
import { Input } from '../parts/input.tsx'
import { countedLimitNames, countedLimits } from '../../../../schemas/config/counted-limits.ts'
import { BudgetFields } from './budget-fields.tsx'
import { emptyBudget, maxBudgets, type BudgetDraft, type LimitsDraft } from './limits-draft.ts'

export interface LimitsFieldsProps {
  readonly draft: LimitsDraft
  readonly onChange: (draft: LimitsDraft) => void
  readonly error: ApiError | undefined
}

export function LimitsFields ({ draft, onChange, error }: LimitsFieldsProps): JSX.Element {
  const { budgets, counts, strict } = draft
  const set = (change: Partial<LimitsDraft>): void => onChange({ ...draft, ...change })
  const fields = error?.fields ?? {}
  return (
    <>
      {budgets.map((budget, place) => (
        <BudgetFields
          key={place}
          draft={draft}
          place={place}
          fields={fields}
          onChange={changed => set({ budgets: budgets.with(place, changed) })}
          {...(budgets.length > 1 && { onRemove: () => set({ budgets: budgets.toSpliced(place, 1) }) })}
        />
      ))}
      {budgets.some(({ usd }) => usd !== '') && (
        <>
          {budgets.length < maxBudgets && (
            <div>
              <Button
                kind='link'
                icon='plus'
                onClick={() =>
                  set({ budgets: [...budgets, { ...emptyBudget, allowUnpriced: allowsAll(budgets) }] })
                }
              >
                Add another that holds as well
              </Button>
            </div>
          )}
          <Check
            checked={allowsAll(budgets)}
            onChange={allowUnpriced =>
              set({ budgets: budgets.map(budget => ({ ...budget, allowUnpriced })) })
            }
          >
            Allow models without a known price<span class='small faint'> – they count as free</span>
          </Check>
          <Check checked={strict} onChange={next => set({ strict: next })}>
            Shorten answers to what is left of the budget
            <span class='small faint'> – otherwise the last one may exceed it</span>
          </Check>
        </>
      )}
      <div class='columns'>
        {countedLimitNames.map(name => (
          <Input
            key={name}
            label={countedLimits[name].label}
            optional
            type='number'
            min={1}
            step={1}
            placeholder='No limit'
            value={counts[name]}
            onInput={value => set({ counts: { ...counts, [name]: value } })}
            error={fields[`limits.${name}`]}
          />
        ))}
      </div>
    </>
  )
}

function allowsAll (budgets: readonly BudgetDraft[]): boolean {
  return budgets.every(({ allowUnpriced }) => allowUnpriced)
}
