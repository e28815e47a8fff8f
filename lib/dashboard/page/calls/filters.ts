/** The filters of the list of calls, which are kept in the address. */

import { recordedUnits } from '../../../../schemas/billed-units.ts'
import type { callQuery } from '../../../../schemas/admin/calls.ts'
import { query, setQuery } from '../state/router.ts'
import { outcomes } from './outcome.tsx'

type FilterName = Exclude<keyof typeof callQuery, 'from_ms' | 'until_ms' | 'limit' | 'cursor'>
type RangeName = FilterName extends infer N ? N extends `min_${infer R}` ? R : never : never
export type CallFilters = { readonly [K in FilterName]?: string }

/** Filters by text, by their names in the admin API. */
export const textFilters: ReadonlyArray<{ readonly name: FilterName, readonly label: string, readonly placeholder: string }> = [
  { name: 'model', label: 'Model', placeholder: 'openai/gpt-5' },
  { name: 'requested_model', label: 'Requested model', placeholder: 'fast' },
  { name: 'provider', label: 'Provider', placeholder: 'openai' },
  { name: 'endpoint', label: 'Endpoint', placeholder: 'chat' },
  { name: 'key', label: 'Key id', placeholder: 'key_…' },
  { name: 'request_id', label: 'Request id', placeholder: 'of x-request-id' },
  { name: 'status', label: 'Status', placeholder: '429' },
  { name: 'error', label: 'Error code', placeholder: 'rate_limited' },
  { name: 'image_size', label: 'Image size', placeholder: '1024x1024' },
  { name: 'image_quality', label: 'Image quality', placeholder: 'high' }
]

/** Filters by a fact, each with what true and false mean. */
export const factFilters: ReadonlyArray<{ readonly name: FilterName, readonly label: string, readonly yes: string, readonly no: string }> = [
  { name: 'streamed', label: 'Answer', yes: 'Streamed', no: 'In one piece' },
  { name: 'priced', label: 'Price', yes: 'Known', no: 'Not known' },
  { name: 'estimated', label: 'Usage', yes: 'Estimated', no: 'Reported' },
  { name: 'own_provider_key', label: 'Provider key', yes: 'The caller’s own', no: 'The gateway’s' }
]

/** Filters by a number, from one to another. */
export const rangeFilters: ReadonlyArray<{ readonly name: RangeName, readonly label: string, readonly unit?: string }> = [
  { name: 'cost_usd', label: 'Cost', unit: '$' },
  { name: 'duration_ms', label: 'Duration', unit: 'ms' },
  { name: 'first_byte_ms', label: 'First token', unit: 'ms' },
  { name: 'attempts', label: 'Attempts' },
  { name: 'turns', label: 'Turns' },
  ...recordedUnits.map(({ column, label, parts }) => ({ name: column, label, ...parts === 1000 && { unit: 'ms' } }))
]

/** The filters behind the button. */
const moreNames: readonly FilterName[] = [
  ...textFilters.map(({ name }) => name), ...factFilters.map(({ name }) => name), ...rangeFilters.flatMap(({ name }) => [`min_${name}`, `max_${name}`] as const)
]
const names: readonly FilterName[] = ['search', 'project', 'outcome', ...moreNames]

/** Returns how many of the filters behind the button are set. */
export function moreFilters (): number {
  return moreNames.filter(name => query.value.has(name)).length
}

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
