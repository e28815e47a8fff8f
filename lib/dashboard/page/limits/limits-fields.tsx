/** The limits of a key or a project. */

import type { JSX } from 'preact'
import type { ApiError } from '../api/client.ts'
import { Check } from '../parts/check.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import { countedLimitNames, countedLimits } from '../../../../schemas/config/counted-limits.ts'
import type { BudgetPeriod, LimitsDraft } from './limits-draft.ts'

export interface LimitsFieldsProps {
  readonly draft: LimitsDraft
  readonly onChange: (draft: LimitsDraft) => void
  readonly error: ApiError | undefined
}

const periodLabels: Readonly<Record<BudgetPeriod, string>> = { hour: 'an hour', day: 'a day', week: 'a week', month: 'a month', total: 'in total' }

export const periods = (Object.keys(periodLabels) as BudgetPeriod[]).map(value => ({ value, label: periodLabels[value] })) // its keys are those

export function LimitsFields ({ draft, onChange, error }: LimitsFieldsProps): JSX.Element {
  const set = (change: Partial<LimitsDraft>): void => onChange({ ...draft, ...change })
  const fields = error?.fields ?? {}
  return (
    <>
      <div class='columns'>
        <Input
          label='Budget' optional type='number' before='$' min={0} step='any' placeholder='No limit' value={draft.budgetUsd}
          onInput={value => set({ budgetUsd: value })} error={fields['limits.budget.usd']}
        />
        <Select
          label='Period' value={draft.budgetPer} choices={periods} hint='In UTC, or in the time zone of the budget.'
          onChange={value => set({ budgetPer: periods.find(period => period.value === value)?.value ?? 'month' })}
        />
      </div>
      {draft.budgetUsd !== '' && (
        <>
          <Check checked={draft.allowUnpriced} onChange={allowUnpriced => set({ allowUnpriced })}>
            Allow models without a known price<span class='small faint'> – they count as free</span>
          </Check>
          <Check checked={draft.strict} onChange={strict => set({ strict })}>
            Shorten answers to what is left of the budget<span class='small faint'> – otherwise the last one may exceed it</span>
          </Check>
        </>
      )}
      <div class='columns'>
        {countedLimitNames.map(name => (
          <Input
            key={name} label={countedLimits[name].label} optional type='number' min={1} step={1} placeholder='No limit' value={draft.counts[name]}
            onInput={value => set({ counts: { ...draft.counts, [name]: value } })} error={fields[`limits.${name}`]}
          />
        ))}
      </div>
    </>
  )
}
