/** The limits of a key or a project. */

import type { JSX } from 'preact'
import type { ApiError } from '../api/client.ts'
import { Check } from '../parts/check.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import type { LimitsDraft } from './limits-draft.ts'

export interface LimitsFieldsProps {
  readonly draft: LimitsDraft
  readonly onChange: (draft: LimitsDraft) => void
  readonly error: ApiError | undefined
}

export const periods = [{ value: 'day', label: 'a day' }, { value: 'month', label: 'a month' }, { value: 'total', label: 'in total' }] as const

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
          label='Period' value={draft.budgetPer} choices={periods} hint='Days and months of UTC.'
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
        <Input
          label='Requests per minute' optional type='number' min={1} step={1} placeholder='No limit' value={draft.requestsPerMinute}
          onInput={value => set({ requestsPerMinute: value })} error={fields['limits.requests_per_minute']}
        />
        <Input
          label='Tokens per minute' optional type='number' min={1} step={1} placeholder='No limit' value={draft.tokensPerMinute}
          onInput={value => set({ tokensPerMinute: value })} error={fields['limits.tokens_per_minute']}
        />
        <Input
          label='Concurrent calls' optional type='number' min={1} step={1} placeholder='No limit' value={draft.concurrentCalls}
          onInput={value => set({ concurrentCalls: value })} error={fields['limits.concurrent_calls']}
        />
      </div>
    </>
  )
}
