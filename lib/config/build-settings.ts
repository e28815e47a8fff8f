/** Turns a checked configuration into the settings services are built from. */

import { providerLabels } from '../../schemas/providers.ts'
import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Config, ModelConfig, ProviderConfig, RouteConfig, ToolServerConfig } from '../../schemas/config.ts'
import { Secret } from '../core/secret.ts'
import type {
  KeySettings, Limits, ModelSettings, ProviderSettings, RouteSettings, ServerSettings, Settings, ToolServerSettings
} from '../core/settings.ts'
import { camelKeys } from './camel-keys.ts'
import { isoMoment } from './iso-moment.ts'
import { kindOf, kinds } from '../providers/kinds.ts'
import { routeTargets } from './route-targets.ts'

export interface SettingsSources {
  readonly secrets: ReadonlyMap<string, Secret>
  readonly ownKeys: readonly KeySettings[]
  readonly cwd: string
}

/** @param config without problems: every reference in it leads to one of the secrets */
export function buildSettings (config: Config, { secrets, ownKeys, cwd }: SettingsSources): Settings {
  const secret = (reference: string): Secret => {
    const found = secrets.get(reference)
    if (found === undefined) throw new Error('a secret of the configuration was not read')
    return found
  }
  const providers = Object.entries(config.providers).filter(([id, { enabled }]) => enabled || isLabel(id))
  const there = new Set(providers.map(([id]) => id))
  return {
    server: server(config.server, cwd),
    ...config.metrics !== undefined && { metrics: config.metrics },
    limits: limits(config.limits),
    tools: camelKeys(config.tools),
    providers: providers.map(([id, entry]) => provider(id, entry, secret)),
    // A provider may be off in one environment and on in another: its models come and go with it.
    models: Object.entries(config.models)
      .filter(([id, { alias }]) => alias !== undefined || there.has(prefixOf(id)))
      .map(([id, entry]) => model(id, entry)),
    routes: Object.entries(config.routes).map(([name, entry]) => route(name, entry)),
    toolServers: Object.entries(config.mcp_servers)
      .map(([slug, entry]) => toolServer(slug, entry, secret)),
    keys: [...config.keys.map(entry => key(entry, secret)), ...ownKeys],
    usage: camelKeys(config.usage),
    deferred: camelKeys(config.deferred)
  }
}

function server (entry: Config['server'], cwd: string): ServerSettings {
  const { workers, data_dir: dataDir, ...rest } = entry
  return {
    ...camelKeys(rest),
    workers: workers === 'auto' ? availableParallelism() : workers,
    dataDir: resolve(cwd, dataDir)
  }
}

function limits ({ default_key: defaultKey, ...rest }: Config['limits']): Limits {
  return { ...camelKeys(rest), ...(defaultKey === undefined ? {} : { defaultKey: camelKeys(defaultKey) }) }
}

/** Callers may bring a key to these although the gateway has none. */
function isLabel (id: string): boolean {
  return providerLabels.some(label => label === id)
}

type ReadSecret = (reference: string) => Secret

function provider (id: string, entry: ProviderConfig, secret: ReadSecret): ProviderSettings {
  const kind = kindOf(id, entry.kind)
  const { api_key: apiKey, base_url: baseUrl = kinds[kind].baseUrl ?? '' } = entry
  return {
    id,
    kind,
    enabled: entry.enabled,
    baseUrl: baseUrl.replace(/\/+$/, ''),
    // What is switched off may name secrets that are not there.
    ...(apiKey === undefined || !entry.enabled ? {} : { apiKey: secret(apiKey) }),
    headers: entry.enabled ? mapValues(entry.headers, secret) : {},
    timeouts: camelKeys(entry.timeouts),
    retries: entry.retries,
    onDisconnect: entry.on_disconnect,
    connections: entry.connections,
    quirks: camelKeys(entry.quirks),
    listModels: entry.list_models ?? kinds[kind].listModels === true,
    options: entry.options
  }
}

function prefixOf (id: string): string {
  return id.slice(0, Math.max(0, id.indexOf('/')))
}

function model (id: string, { price, ...entry }: ModelConfig): ModelSettings {
  return { id, ...camelKeys(entry), ...(price === undefined ? {} : { price: camelKeys(price) }) }
}

function route (name: string, entry: RouteConfig): RouteSettings {
  const targets = routeTargets(name, entry)
  const weights = targets.flatMap(({ id, weight }) => weight === undefined ? [] : [[id, weight] as const])
  return {
    name,
    models: targets.map(({ id }) => id),
    ...!Array.isArray(entry) && { strategy: entry.strategy },
    ...weights.length > 0 && { weights: Object.fromEntries(weights) }
  }
}

function toolServer (slug: string, entry: ToolServerConfig, secret: ReadSecret): ToolServerSettings {
  const { headers, env, ...rest } = entry
  return {
    slug, ...camelKeys(rest), headers: mapValues(headers, secret), env: mapValues(env, secret)
  }
}

function key (entry: Config['keys'][number], secret: ReadSecret): KeySettings {
  const { key, expires_at: expiresAt, limits, ...rest } = entry
  return {
    ...rest,
    key: secret(key),
    ...(expiresAt === undefined ? {} : { expiresAtMs: isoMoment(expiresAt) }),
    ...(limits === undefined ? {} : { limits: camelKeys(limits) })
  }
}

/**
 * Reads `HEADGATE_API_KEYS`: separated by commas; a key may hold spaces, but not at its ends. Each is
 * named by its digest: by position, removing one would hand its usage and budget to the next.
 */
export function environmentKeys (keys = ''): KeySettings[] {
  const texts = keys.split(',').map(text => text.trim()).filter(text => text !== '')
  return texts.map(text => ({ name: `environment-${hash('sha256', text).slice(0, 12)}`, key: new Secret(text) }))
}

function mapValues (map: Record<string, string>, secret: ReadSecret): Record<string, Secret> {
  return Object.fromEntries(Object.entries(map).map(([name, text]) => [name, secret(text)]))
}
