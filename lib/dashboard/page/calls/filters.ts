/** The filters of the list of calls, stored in the address. */

import { recordedUnits } from '../../../../schemas/billed-units.ts'
import type { callQuery } from '../../../../schemas/admin/calls.ts'
import type { usageQuery } from '../../../../schemas/admin/usage.ts'
import { setQuery, query } from '../state/router.ts'
import { outcomes } from './outcome.tsx'

type FilterName = Exclude<keyof typeof callQuery, 'from_ms' | 'until_ms' | 'limit' | 'cursor'>
type RangeName = FilterName extends infer N ? N extends `min_${infer R}` ? R : never : never
export type CallFilters = { readonly [K in FilterName]?: string }

/** The kind of a filter's value. */
export type FilterControl =
  | { readonly kind: 'text', readonly placeholder: string }
  /** The name of an existing object. */
  | { readonly kind: 'choice', readonly of: 'keys' | 'models' | 'providers' | 'endpoints' }
  /** A fact, with the meaning of true and false. */
  | { readonly kind: 'fact', readonly yes: string, readonly no: string }
  /** A range of numbers. */
  | { readonly kind: 'range', readonly unit?: string }

export type AddedFilter = { readonly label: string } & (
  | { readonly name: FilterName, readonly control: Exclude<FilterControl, { kind: 'range' }> }
  | { readonly name: RangeName, readonly control: Extract<FilterControl, { kind: 'range' }> }
)

const text = (name: FilterName, label: string, placeholder: string): AddedFilter => ({
  name,
  label,
  control: { kind: 'text', placeholder }
})
const choice = (
  name: FilterName,
  label: string,
  of: Extract<FilterControl, { kind: 'choice' }>['of']
): AddedFilter => ({ name, label, control: { kind: 'choice', of } })
const fact = (name: FilterName, label: string, yes: string, no: string): AddedFilter => ({
  name,
  label,
  control: { kind: 'fact', yes, no }
})
const range = (name: RangeName, label: string, unit?: string): AddedFilter => ({
  name,
  label,
  control: { kind: 'range', ...unit !== undefined && { unit } }
})

/** The filters by attribution, for calls and for sums. */
export const attributions = [
  text('end_user', 'End user', 'customer-42'),
  text('session', 'Session', 'of x-session-id'),
  text('tag', 'Tag', 'search')
] as const

/** The filters that are added one by one. */
export const addedFilters: readonly AddedFilter[] = [
  choice('key', 'Key', 'keys'),
  choice('model', 'Model', 'models'),
  text('requested_model', 'Requested model', 'fast'),
  choice('provider', 'Provider', 'providers'),
  choice('endpoint', 'Endpoint', 'endpoints'),
  ...attributions,
  text('status', 'Status', '429'),
  text('error', 'Error code', 'rate_limit_exceeded'),
  text('request_id', 'Request id', 'of x-request-id'),
  fact('streamed', 'Answer', 'Streamed', 'In one piece'),
  fact('priced', 'Price', 'Known', 'Not known'),
  fact('cached', 'Cache', 'From the cache', 'Answered anew'),
  fact('estimated', 'Usage', 'Estimated', 'Reported'),
  fact('own_provider_key', 'Provider key', 'The caller’s own', 'The gateway’s'),
  range('cost_usd', 'Cost', '$'),
  range('duration_ms', 'Duration', 'ms'),
  range('first_byte_ms', 'First token', 'ms'),
  range('attempts', 'Attempts'),
  range('turns', 'Turns'),
  ...recordedUnits.map(({ column, label, perUnit }) =>
    range(column, label, perUnit === 1000 ? 'ms' : undefined)),
  text('image_size', 'Image size', '1024x1024'),
  text('image_quality', 'Image quality', 'high')
]

/** Returns the parameters of a filter. */
export function namesOf ({ name, control }: AddedFilter): readonly FilterName[] {
  // as its kind says
  return control.kind === 'range'
    ? [`min_${name as RangeName}`, `max_${name as RangeName}`]
    : [name as FilterName]
}

const names: readonly FilterName[] = ['search', 'project', 'outcome', ...addedFilters.flatMap(namesOf)]

export function isSet (filter: AddedFilter): boolean {
  return namesOf(filter).some(name => query.value.has(name))
}

/** The filters that sums can be narrowed by as well. */
const summed: ReadonlySet<string> = new Set<keyof typeof usageQuery>([
  'project', 'key', 'model', 'provider', 'endpoint', 'end_user', 'session', 'tag'
])

/** Returns true where calls are narrowed by whom they are made for, and by nothing that sums cannot be. */
export function haveSums (filters: CallFilters): boolean {
  return attributions.some(isSet) && Object.keys(filters).every(name => summed.has(name))
}

export const outcomeChoices = [{ value: '', label: 'All outcomes' }, ...outcomes]

export function currentFilters (): CallFilters {
  return Object.fromEntries(names.flatMap(name => {
    const value = query.value.get(name)
    return value === null ? [] : [[name, value]]
  }))
}

export function clearFilters (): void {
  setQuery(Object.fromEntries([...names, 'period', 'from', 'until'].map(name => [name, undefined])))
}
