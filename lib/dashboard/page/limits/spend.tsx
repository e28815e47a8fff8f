/** The spent amount: of a budget, or of this month. */

import type { JSX } from 'preact'
import { dollars } from '../format/numbers.ts'
import { Meter } from '../parts/meter.tsx'
import { budgetsOf, type Limits } from './limits-draft.ts'
import { periodOf } from './budget-fields.tsx'

export function Spend ({
  limits,
  spent
}: {
  readonly limits: Limits | null
  readonly spent: number
}): JSX.Element {
  const [budget] = budgetsOf(limits)
  if (budget === undefined) {
    return (
      <span class='nowrap'>
        {dollars(spent)} <span class='faint'>this month</span>
      </span>
    )
  }
  const period = periodOf(budget)
  return (
    <Meter
      label={`${dollars(spent)} spent of ${dollars(budget.usd)} ${period}`}
      value={spent}
      max={budget.usd}
    >
      <span>{dollars(spent)}</span>
      <span class='faint'>
        {dollars(budget.usd)} {period}
      </span>
    </Meter>
  )
}
