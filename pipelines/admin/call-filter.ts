/** Reads the filters of a query, limited to the projects that the caller may see. */

import { maySee } from '../../lib/accounts/roles.ts'
import { callNumbers } from '../../schemas/admin/calls.ts'
import { maxMilliseconds } from '../../schemas/admin/common.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { splitItems } from '../../schemas/admin/item-list.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { CallFilter, ListedColumn } from '../../lib/usage/call-filter.ts'
import { principalOf } from './acts.ts'

/** @throws GatewayError `invalid_value` naming the parameter */
export async function callFilter (
  call: AdminCall & { readonly search: URLSearchParams }
): Promise<CallFilter> {
  const { search } = call
  const endUser = search.get('end_user') ?? ''
  const list = (name: string): string[] | undefined => itemsOf(search, name)
  return {
    fromMs: momentOf(search, 'from_ms'),
    untilMs: momentOf(search, 'until_ms'),
    projects: visibleProjects(call, list('project')),
    keys: list('key'),
    models: list('model'),
    providers: list('provider'),
    endpoints: list('endpoint'),
    endUsers: endUser === '' ? undefined : await call.admin.namesOfEndUser(endUser),
    sessions: sessionOf(search),
    tags: list('tag'),
    values: [...valuesOf(search), ...factsOf(search)],
    ranges: rangesOf(search),
    priced: flagOf(search, 'priced'),
    cached: flagOf(search, 'cached'),
    search: search.get('search')?.slice(0, 200) ?? undefined
  }
}

/** Reads one name, which may contain commas. */
function sessionOf (search: URLSearchParams): string[] | undefined {
  const text = search.get('session')
  return text === null || text === '' ? undefined : [text]
}

const listed: ReadonlyArray<readonly [name: string, column: ListedColumn]> = [
  ['outcome', 'outcome'],
  ['error', 'error_code'],
  ['requested_model', 'requested_model'],
  ['request_id', 'call_id'],
  ['image_size', 'image_size'],
  ['image_quality', 'image_quality']
]

function valuesOf (search: URLSearchParams): NonNullable<CallFilter['values']> {
  const texts = listed.map(([name, column]) => [column, itemsOf(search, name)] as const)
  return [...texts, ['status', statusesOf(search)] as const].flatMap(([column, values]) =>
    values === undefined ? [] : [[column, values]]
  )
}

function statusesOf (search: URLSearchParams): number[] | undefined {
  const statuses = itemsOf(search, 'status')
  if (statuses?.every(text => /^\d{3}$/.test(text)) === false) {
    throw new GatewayError('invalid_value', {
      param: 'status',
      message: '`status` must be HTTP statuses, separated by commas.'
    })
  }
  return statuses?.map(Number)
}

function factsOf (search: URLSearchParams): NonNullable<CallFilter['values']> {
  return (['streamed', 'estimated', 'own_provider_key'] as const).flatMap(column => {
    const flag = flagOf(search, column)
    return flag === undefined ? [] : [[column, [Number(flag)]]]
  })
}

function rangesOf (search: URLSearchParams): NonNullable<CallFilter['ranges']> {
  const columns = Object.keys(callNumbers) as Array<keyof typeof callNumbers> // its own keys
  const numbers = columns.map(
    column => [column, integerOf(search, `min_${column}`), integerOf(search, `max_${column}`)] as const
  )
  const ranges: NonNullable<CallFilter['ranges']> = [
    ...numbers,
    ['cost_nano_usd', costOf(search, 'min_cost_usd'), costOf(search, 'max_cost_usd')]
  ]
  return ranges.filter(([, min, max]) => min !== undefined || max !== undefined)
}

export function flagOf (search: URLSearchParams, name: string): boolean | undefined {
  const text = search.get(name)
  if (text === null || text === '') return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  throw new GatewayError('invalid_value', {
    param: name,
    message: `\`${name}\` must be \`true\` or \`false\`.`
  })
}

/** Returns the projects that a request is about: `undefined` for all of them. */
export function visibleProjects (
  call: AdminCall,
  wanted: readonly string[] | undefined
): string[] | undefined {
  const principal = principalOf(call)
  if (wanted !== undefined) return wanted.filter(id => maySee(principal, id))
  return principal.projects === undefined ? undefined : [...principal.projects]
}

/** Reads items separated by commas; `undefined` if there are none. */
export function itemsOf (search: URLSearchParams, name: string): string[] | undefined {
  const items = splitItems(search.get(name) ?? '')
  return items.length === 0 ? undefined : items.slice(0, 200)
}

/** Reads a time in Unix milliseconds. */
export function momentOf (search: URLSearchParams, name: string): number | undefined {
  return integerOf(search, name, maxMilliseconds)
}

function integerOf (
  search: URLSearchParams,
  name: string,
  max = Number.MAX_SAFE_INTEGER
): number | undefined {
  const text = search.get(name)
  if (text === null || text === '') return undefined
  const number = Number(text)
  if (!/^\d{1,16}$/.test(text) || number > max) {
    throw new GatewayError('invalid_value', {
      param: name, message: `\`${name}\` must be a whole number, at most ${max}.`
    })
  }
  return number
}

function costOf (search: URLSearchParams, name: string): number | undefined {
  const text = search.get(name)
  if (text === null || text === '') return undefined
  const usd = Number(text)
  if (!(usd >= 0 && usd <= 1e6)) {
    throw new GatewayError('invalid_value', {
      param: name,
      message: `\`${name}\` must be a number of dollars.`
    })
  }
  return Math.round(usd * 1e9)
}
