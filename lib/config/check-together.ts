/** Rules that need more than one entry: names that must differ, and names that must exist. */

import type { Config } from '../../schemas/config.ts'
import { endpointNames } from '../endpoint.ts'
import { nearest } from '../nearest.ts'
import { SandboxOptionError, sandboxOptionNames, sandboxOptions } from '../providers/sandbox/options.ts'
import { kindOf, kinds } from './kinds.ts'
import { routeTargets } from './route-targets.ts'
import type { Report } from './report.ts'

/**
 * Reports what is wrong between entries that are each right by themselves.
 *
 * @param providerNames every provider that is written down, also where its entry is wrong
 */
export function checkTogether (config: Config, providerNames: readonly string[], report: Report): void {
  checkProviders(config, report)
  checkModels(config, providerNames, report)
  checkToolServers(config, report)
  checkKeys(config, report)
}

function checkProviders ({ providers }: Config, report: Report): void {
  for (const [id, { kind, base_url: baseUrl, options }] of Object.entries(providers)) {
    if (kindOf(id, kind) === 'sandbox') checkSandboxOptions(id, options, report)
    if (baseUrl !== undefined) {
      if (!URL.canParse(baseUrl)) report.add(['providers', id, 'base_url'], 'is not an address')
    } else if (kinds[kindOf(id, kind)].baseUrl === undefined) {
      const meant = kind === undefined ? nearest(id, Object.keys(kinds)) : undefined
      report.add(['providers', id, 'base_url'], 'is missing, and the kind has no public address', {
        part: 'name', suggestion: meant === undefined ? undefined : `providers.${meant}`
      })
    }
  }
}

/** Other kinds leave their options to the provider; these are ours to know. */
function checkSandboxOptions (id: string, options: Readonly<Record<string, unknown>>, report: Report): void {
  const path = ['providers', id, 'options']
  for (const name of Object.keys(options)) {
    if (sandboxOptionNames.includes(name)) continue
    report.add([...path, name], 'unknown entry', { part: 'name', suggestion: nearest(name, sandboxOptionNames) })
  }
  try {
    sandboxOptions(options)
  } catch (error) {
    if (!(error instanceof SandboxOptionError)) throw error
    report.add([...path, error.option], error.rule)
  }
}

function checkModels (config: Config, providerNames: readonly string[], report: Report): void {
  const { models, routes } = config
  // A provider may be off in one environment and on in another: its models are no mistake.
  const prefixes = new Set([...Object.keys(kinds), ...providerNames])
  const names = new Set([...Object.keys(models), ...Object.keys(routes)])
  const checkId = (path: ReadonlyArray<string | number>, id: string, part: 'name' | 'value'): void => {
    const slash = id.indexOf('/')
    const prefix = id.slice(0, Math.max(0, slash))
    if (slash === -1 || prefixes.has(prefix)) return
    const meant = nearest(prefix, prefixes)
    report.add(path, 'names a provider that is not configured', {
      part, suggestion: meant === undefined ? undefined : meant + id.slice(slash)
    })
  }
  for (const [id, { alias }] of Object.entries(models)) {
    if (alias === undefined) checkId(['models', id], id, 'name')
    else if (leadsTo(id, id, models)) report.add(['models', id, 'alias'], 'leads back to itself')
    else if (!names.has(alias)) checkId(['models', id, 'alias'], alias, 'value')
    if (Object.hasOwn(routes, id)) report.add(['routes', id], 'is also the name of a model', { part: 'name' })
  }
  for (const [name, entry] of Object.entries(routes)) {
    for (const { id, path } of routeTargets(name, entry)) {
      if (id === name) report.add(path, 'leads back to itself')
      else if (!names.has(id)) checkId(path, id, 'value')
    }
  }
}

/** Whether following aliases from one name comes to another; ends after as many steps as names. */
function leadsTo (from: string, to: string, models: Config['models']): boolean {
  let name: string | undefined = from
  for (let steps = Object.keys(models).length; steps > 0 && name !== undefined; steps--) {
    name = Object.hasOwn(models, name) ? models[name]?.alias : undefined
    if (name === to) return true
  }
  return false
}

function checkToolServers ({ mcp_servers: servers }: Config, report: Report): void {
  for (const [slug, { url, command, args, env, headers }] of Object.entries(servers)) {
    const path = ['mcp_servers', slug]
    if (url === undefined && command === undefined) {
      report.add(path, 'needs a url or a command', { part: 'name' })
    } else if (url !== undefined && command !== undefined) {
      report.add([...path, 'command'], 'not together with url', { part: 'name' })
    } else if (url !== undefined) {
      if (!URL.canParse(url)) report.add([...path, 'url'], 'is not an address')
      if (args.length > 0) report.add([...path, 'args'], 'only together with command', { part: 'name' })
      if (Object.keys(env).length > 0) {
        report.add([...path, 'env'], 'only together with command', { part: 'name' })
      }
    } else if (Object.keys(headers).length > 0) {
      report.add([...path, 'headers'], 'only together with url', { part: 'name' })
    }
  }
}

function checkKeys ({ keys }: Config, report: Report): void {
  const names = new Set<string>()
  for (const [index, { name, endpoints = [], expires_at: expiresAt }] of keys.entries()) {
    if (names.has(name)) report.add(['keys', index, 'name'], 'another key has this name')
    names.add(name)
    for (const [position, endpoint] of endpoints.entries()) {
      if (endpointNames.includes(endpoint)) continue
      report.add(['keys', index, 'endpoints', position], `must be one of ${endpointNames.join(', ')}`, {
        suggestion: nearest(endpoint, endpointNames)
      })
    }
    if (expiresAt !== undefined && Number.isNaN(Date.parse(expiresAt))) {
      report.add(['keys', index, 'expires_at'], 'is not a date')
    }
  }
}
