/** The spent amount: of a budget, or this month. */

import type { JSX } from 'preact'
import { dollars } from '../format/numbers.ts'
import { Meter } from '../parts/meter.tsx'
import type { Limits } from './limits-draft.ts'
import { periods } from './limits-fields.tsx'

export function Spend ({ limits, spent }: { readonly limits: Limits | null, readonly spent: number }): JSX.Element {
  const budget = limits?.budget ?? limits?.budgets?.[0]
  if (budget === undefined) return <span class='nowrap'>{dollars(spent)} <span class='faint'>this month</span></span>
  const period = budget.every === undefined ? periods.find(({ value }) => value === (budget.per ?? 'month'))?.label ?? '' : `every ${budget.every}`
  return (
    <Meter label={`${dollars(spent)} spent of ${dollars(budget.usd)} ${period}`} value={spent} max={budget.usd}>
      <span>{dollars(spent)}</span><span class='faint'>{dollars(budget.usd)} {period}</span>
    </Meter>
  )
}
