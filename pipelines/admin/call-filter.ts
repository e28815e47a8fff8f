/** Reads the filters of a query, within the projects that the caller may see. */

import { maySee } from '../../lib/accounts/roles.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import type { AdminCall } from '../../lib/stages/admin-auth.ts'
import type { CallFilter } from '../../lib/usage/call-filter.ts'
import { principalOf } from './acts.ts'

/** @throws GatewayError `invalid_value` naming the parameter */
export function callFilter (call: AdminCall & { readonly search: URLSearchParams }): CallFilter {
  const { search } = call
  const list = (name: string): string[] | undefined => search.get(name)?.split(',').filter(item => item !== '').slice(0, 200)
  const streamed = search.get('streamed')
  return {
    fromMs: integerOf(search, 'from_ms'),
    untilMs: integerOf(search, 'until_ms'),
    projects: visibleProjects(call, list('project')),
    keys: nonEmpty(list('key')),
    models: nonEmpty(list('model')),
    providers: nonEmpty(list('provider')),
    endpoints: nonEmpty(list('endpoint')),
    outcomes: nonEmpty(list('outcome')),
    statuses: nonEmpty(list('status'))?.map(Number).filter(Number.isInteger),
    errors: nonEmpty(list('error')),
    streamed: streamed === null ? undefined : streamed === 'true',
    search: search.get('search')?.slice(0, 200) ?? undefined,
    minCostNanoUsd: costOf(search),
    minDurationMs: integerOf(search, 'min_duration_ms')
  }
}

/** Returns the projects that a request is about: `undefined` for all of them. */
export function visibleProjects (call: AdminCall, wanted: readonly string[] | undefined): string[] | undefined {
  const principal = principalOf(call)
  if (wanted !== undefined && wanted.length > 0) return wanted.filter(id => maySee(principal, id))
  return principal.projects === undefined ? undefined : [...principal.projects]
}

function nonEmpty (list: string[] | undefined): string[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list
}

export function integerOf (search: URLSearchParams, name: string): number | undefined {
  const text = search.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) throw new GatewayError('invalid_value', { param: name, message: `\`${name}\` must be an integer.` })
  return Number(text)
}

function costOf (search: URLSearchParams): number | undefined {
  const text = search.get('min_cost_usd')
  if (text === null || text === '') return undefined
  const usd = Number(text)
  if (!(usd >= 0 && usd <= 1e6)) throw new GatewayError('invalid_value', { param: 'min_cost_usd', message: '`min_cost_usd` must be a number of dollars.' })
  return Math.round(usd * 1e9)
}
