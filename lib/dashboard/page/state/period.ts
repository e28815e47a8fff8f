/**
 * The period that is looked at, the same for numbers and calls: one of a few that end now, or one that was
 * chosen in a chart.
 */

import { query, setQuery } from './router.ts'

export interface Period { readonly fromMs: number, readonly untilMs: number, readonly name: string }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const lengths: Readonly<Record<string, number>> = {
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
  quarter: 90 * dayMs
}

export const periodChoices = [
  { value: 'hour', label: '1 hour' },
  { value: 'day', label: '24 hours' },
  { value: 'week', label: '7 days' },
  { value: 'month', label: '30 days' },
  { value: 'quarter', label: '90 days' }
]

export function currentPeriod (): Period {
  const [from, until] = [momentOf('from'), momentOf('until')]
  if (from < until) return { fromMs: from, untilMs: until, name: 'custom' }
  const name = query.value.get('period') ?? 'day'
  const untilMs = Date.now()
  return { fromMs: untilMs - (lengths[name] ?? dayMs), untilMs, name }
}

/** Returns a parameter as Unix milliseconds; `NaN` if it is absent or not a moment. */
function momentOf (name: 'from' | 'until'): number {
  return new Date(Number(query.value.get(name) ?? NaN)).getTime()
}

/** Returns the parameters that lead another page to the same period. */
export function periodQuery (): Record<string, string> {
  return Object.fromEntries(['period', 'from', 'until'].flatMap(name => {
    const value = query.value.get(name)
    return value === null ? [] : [[name, value]]
  }))
}

export function choosePeriod (name: string): void {
  setQuery({ period: name === 'day' ? undefined : name, from: undefined, until: undefined })
}

export function chooseRange (fromMs: number, untilMs: number): void {
  setQuery({ from: String(Math.floor(fromMs)), until: String(Math.ceil(untilMs)) })
}
