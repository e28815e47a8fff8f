/** The filters of the list of calls, which are kept in the address. */

import { query, setQuery } from '../state/router.ts'
import { outcomes } from './outcome.tsx'

/** Text filters of the second row, by their names in the admin API. */
export const textFilters = [
  { name: 'model', label: 'Model', placeholder: 'openai/gpt-5' },
  { name: 'provider', label: 'Provider', placeholder: 'openai' },
  { name: 'endpoint', label: 'Endpoint', placeholder: 'chat' },
  { name: 'key', label: 'Key id', placeholder: 'key_…' },
  { name: 'status', label: 'Status', placeholder: '429' },
  { name: 'error', label: 'Error code', placeholder: 'rate_limited' },
  { name: 'min_cost_usd', label: 'Cost from', placeholder: '0.01' },
  { name: 'min_duration_ms', label: 'Milliseconds from', placeholder: '5000' }
] as const

const names = ['search', 'project', 'outcome', ...textFilters.map(({ name }) => name)] as const
export type CallFilters = { readonly [K in typeof names[number]]?: string }

export const outcomeChoices = [{ value: '', label: 'All outcomes' }, ...outcomes]

export const periods = [
  { value: 'hour', label: 'Last hour', ms: 3_600_000 }, { value: 'day', label: 'Last 24 hours', ms: 86_400_000 }, { value: 'week', label: 'Last 7 days', ms: 604_800_000 }, { value: 'all', label: 'All time', ms: undefined }
]

export function currentFilters (): CallFilters {
  return Object.fromEntries(names.flatMap(name => {
    const value = query.value.get(name)
    return value === null ? [] : [[name, value]]
  }))
}

/** Returns the first moment of the chosen period; absent for all time. */
export function fromMs (): number | undefined {
  const ms = periods.find(({ value }) => value === currentPeriodName())?.ms
  return ms === undefined ? undefined : Date.now() - ms
}

export function currentPeriodName (): string {
  return query.value.get('period') ?? 'day'
}

export function clearFilters (): void {
  setQuery(Object.fromEntries([...names, 'period'].map(name => [name, undefined])))
}
