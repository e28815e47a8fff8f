/** The period that is looked at: one of a few that end now, or one that was chosen in a chart. */

import { query, setQuery } from '../state/router.ts'

export interface Period { readonly fromMs: number, readonly untilMs: number, readonly name: string }

const dayMs = 86_400_000
const lengths: Readonly<Record<string, number>> = { day: dayMs, week: 7 * dayMs, month: 30 * dayMs, quarter: 90 * dayMs }

export const periodChoices = [
  { value: 'day', label: '24 hours' }, { value: 'week', label: '7 days' }, { value: 'month', label: '30 days' }, { value: 'quarter', label: '90 days' }
]

export function currentPeriod (): Period {
  const [from, until] = [query.value.get('from'), query.value.get('until')]
  if (from !== null && until !== null) return { fromMs: Number(from), untilMs: Number(until), name: 'custom' }
  const name = query.value.get('period') ?? 'day'
  const untilMs = Date.now()
  return { fromMs: untilMs - (lengths[name] ?? dayMs), untilMs, name }
}

export function choosePeriod (name: string): void {
  setQuery({ period: name === 'day' ? undefined : name, from: undefined, until: undefined })
}

export function chooseRange (fromMs: number, untilMs: number): void {
  setQuery({ from: String(Math.floor(fromMs)), until: String(Math.ceil(untilMs)) })
}
