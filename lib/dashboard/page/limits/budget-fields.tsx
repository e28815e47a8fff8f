/** One budget of a form: its amount and its window. */

import type { JSX } from 'preact'
import { Button } from '../parts/button.tsx'
import { Check } from '../parts/check.tsx'
import { Input } from '../parts/input.tsx'
import { Select } from '../parts/select.tsx'
import { budgetPath, type Budget, type BudgetDraft, type LimitsDraft } from './limits-draft.ts'

export interface BudgetFieldsProps {
  readonly draft: LimitsDraft
  readonly place: number
  /** Errors of the API by their paths. */
  readonly fields: Readonly<Record<string, string>>
  readonly onChange: (budget: BudgetDraft) => void
  /** Absent for the only budget, which is removed by clearing it. */
  readonly onRemove?: () => void
}

const periodLabels: Readonly<Record<BudgetDraft['per'], string>> = {
  hour: 'an hour', day: 'a day', week: 'a week', month: 'a month', total: 'in total', every: 'another length'
}
// its keys are those
const periods = (Object.keys(periodLabels) as Array<BudgetDraft['per']>).map(value => ({
  value,
  label: periodLabels[value]
}))

export function BudgetFields ({
  draft,
  place,
  fields,
  onChange,
  onRemove
}: BudgetFieldsProps): JSX.Element | null {
  const budget = draft.budgets[place]
  if (budget === undefined) return null
  const set = (change: Partial<BudgetDraft>): void => onChange({ ...budget, ...change })
  const errorOf = (field: Parameters<typeof budgetPath>[2]): string | undefined =>
    fields[budgetPath(draft, place, field)]
  const { usd, per, every, from, timeZone, soft } = budget
  const number = place === 0 ? '' : ` ${place + 1}`
  return (
    <>
      <div class='columns'>
        <Input
          label={`Budget${number}`}
          optional
          type='number'
          before='$'
          min={0}
          step='any'
          placeholder='No limit'
          value={usd}
          onInput={value => set({ usd: value })}
          error={errorOf('usd')}
        />
        <Select
          label={`Period${number}`}
          value={per}
          choices={periods}
          error={errorOf('per')}
          onChange={value => set({ per: periods.find(period => period.value === value)?.value ?? 'month' })}
        />
        {usd !== '' && per !== 'every' && per !== 'total' && (
          <Input
            label={`Time zone${number}`}
            optional
            value={timeZone}
            onInput={value => set({ timeZone: value })}
            error={errorOf('time_zone')}
            placeholder='UTC'
            hint='Such as Europe/Berlin.'
            maxLength={64}
            autocomplete='off'
          />
        )}
      </div>
      {usd !== '' && per === 'every' && (
        <div class='columns'>
          <Input
            label={`Length${number}`}
            value={every}
            onInput={value => set({ every: value })}
            error={errorOf('every')}
            required
            placeholder='30d'
            hint='Seconds, minutes, hours or days: 45s, 90m, 12h, 30d.'
            autocomplete='off'
          />
          <Input
            label={`Beginning${number}`}
            value={from}
            onInput={value => set({ from: value })}
            error={errorOf('from')}
            required
            placeholder='2030-01-31T00:00:00Z'
            hint='Of one of the periods.'
            autocomplete='off'
          />
        </div>
      )}
      {usd !== '' && (
        <Check checked={soft} onChange={next => set({ soft: next })}>
          {`Only warn${number === '' ? '' : ` of budget${number}`}`}
          <span class='small faint'> – calls go on when it is used up</span>
        </Check>
      )}
      {onRemove !== undefined && (
        <div>
          <Button
            kind='link'
            icon='trash'
            onClick={onRemove}
          >{`Remove${number === '' ? ' the first' : number}`}</Button>
        </div>
      )}
    </>
  )
}

/** Says in words when a budget holds. */
export function periodOf ({ per = 'month', every, time_zone: timeZone, soft }: Budget): string {
  return `${every === undefined ? periodLabels[per] : `every ${every}`}${timeZone === undefined ? '' : ` (${timeZone})`}${soft === true ? ', only warns' : ''}`
}
