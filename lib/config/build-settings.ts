/** Builds the settings of services from a valid configuration. */

import { Type } from 'typebox'
import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { Config } from '../../schemas/config.ts'
import { KeyConfig } from '../../schemas/config/keys.ts'
import { ModelConfig } from '../../schemas/config/models.ts'
import { ProviderConfig } from '../../schemas/config/providers.ts'
import { RouteMapConfig, type RouteConfig } from '../../schemas/config/routes.ts'
import { guardKindOf } from '../../schemas/config/guards.ts'
import { ToolServerConfig } from '../../schemas/config/tools.ts'
import { providerLabels } from '../../schemas/providers.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { Secret } from '../core/secret.ts'
import type { EnvironmentProxies } from '../net/proxy-for.ts'
import type {
  CatalogueSettings,
  KeySettings,
  ProviderSettings,
  RouteSettings,
  Settings
} from '../core/settings.ts'
import { chatSettings } from '../chat/model-settings.ts'
import { kindOf, kinds } from '../providers/kinds.ts'
import { camelCased } from '../validation/camel-case-schema.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { proxyOf } from './read-proxies.ts'
import { routeTargets } from './route-targets.ts'

export interface SettingsSources {
  readonly secrets: ReadonlyMap<string, Secret>
  /** The keys in `HEADGATE_API_KEYS`. */
  readonly ownKeys: readonly KeySettings[]
  readonly adminKey: Secret | undefined
  readonly cwd: string
  /** The directory of the configuration file. */
  readonly directory: string
  readonly proxies: EnvironmentProxies
  /** The models in the `catalogue` file. */
  readonly catalogue?: CatalogueSettings | undefined
}

type ReadSecret = (reference: string) => Secret

/** Sections that only need their entries renamed. */
const Sections = Type.Omit(Config, [
  'catalogue',
  'providers',
  'models',
  'routes',
  'mcp_servers',
  'keys',
  'server'
])

/** @param config without problems: every secret it references exists */
export function buildSettings (
  config: Config,
  { secrets, ownKeys, adminKey, cwd, directory, proxies, catalogue }: SettingsSources
): Settings {
  const secret: ReadSecret = reference => {
    const found = secrets.get(reference)
    if (found === undefined) throw new Error('a secret of the configuration was not resolved')
    return found
  }
  const {
    catalogue: _,
    providers: entries,
    models,
    routes,
    mcp_servers: toolServers,
    keys,
    server,
    ...sections
  } = config
  const { stages, usage, ...plain } = camelCased(Sections, sections, secret)
  const providers = Object.entries(entries).filter(([id, { enabled }]) => enabled || isLabel(id))
  const ids = new Set(providers.map(([id]) => id))
  const { workers, ...serverSettings } = camelCased(Config.properties.server, server, secret)
  return {
    ...plain,
    usage: {
      ...usage,
      exports: Object.fromEntries(Object.entries(usage.exports).map(([name, entry]) => [name, {
        ...entry,
        ...entry.directory !== undefined && { directory: resolve(directory, entry.directory) }
      }]))
    },
    guards: stages.map(stage => guardKindOf(stage.use) === 'module'
      ? { ...stage, use: resolve(directory, stage.use) }
      : stage),
    ...catalogue !== undefined && { catalogue },
    server: {
      ...serverSettings,
      workers: workers === 'auto' ? availableParallelism() : workers,
      dataDir: resolve(cwd, server.data_dir),
      ...server.tls !== undefined && {
        tls: {
          certificate: resolve(directory, server.tls.certificate),
          key: resolve(directory, server.tls.key)
        }
      }
    },
    providers: providers.map(([id, entry]) => provider(id, entry, secret, proxies)),
    // A provider may be enabled in one environment only; its models come and go with it.
    models: Object.entries(models)
      .filter(([id, { alias }]) => alias !== undefined || ids.has(prefixOf(id)))
      .map(([id, entry]) => ({ id, ...camelCased(ModelConfig, entry, secret) })),
    routes: Object.entries(routes).map(([name, entry]) => route(name, entry)),
    toolServers: Object.entries(toolServers).map(([slug, entry]) => ({
      slug,
      ...camelCased(ToolServerConfig, entry, secret)
    })),
    keys: [...keys.map(entry => key(entry, secret)), ...ownKeys],
    ...adminKey !== undefined && { adminKey }
  }
}

/** Callers may bring a key for these although the gateway has none. */
function isLabel (id: string): boolean {
  return providerLabels.some(label => label === id)
}

function provider (
  id: string,
  entry: ProviderConfig,
  secret: ReadSecret,
  proxies: EnvironmentProxies
): ProviderSettings {
  const kind = kindOf(id, entry.kind)
  // A disabled provider may reference missing secrets.
  const { api_key: _, api_keys: __, proxy_credentials: ___, tls: ____, ...keyless } = entry
  const {
    baseUrl = kinds[kind].baseUrl ?? '',
    listModels = kinds[kind].listModels === true,
    apiKeys,
    proxy: own,
    proxyCredentials: credentials,
    ...rest
  } = camelCased(ProviderConfig, entry.enabled ? entry : { ...keyless, headers: {} }, secret)
  const keys = apiKeys?.map(given => (given instanceof Secret ? { key: given, weight: 1 } : given))
  const proxy = proxyOf(baseUrl, { proxy: own, credentials }, proxies)
  return {
    ...rest,
    ...keys !== undefined && { apiKeys: keys },
    ...proxy !== undefined && { proxy },
    id,
    kind,
    baseUrl: withoutTrailingSlashes(baseUrl),
    listModels
  }
}

function prefixOf (id: string): string {
  return id.slice(0, Math.max(0, id.indexOf('/')))
}

function route (name: string, entry: RouteConfig): RouteSettings {
  const targets = routeTargets(name, entry)
  const weights = targets.flatMap(({ id, weight }) => (weight === undefined ? [] : [[id, weight] as const]))
  const defaults = targets.flatMap(({ id, settings }) =>
    settings === undefined ? [] : [[id, chatSettings(settings)] as const]
  )
  const options = Array.isArray(entry) ? {} : camelCased(RouteMapConfig, entry)
  return {
    ...options,
    name,
    models: targets.map(({ id }) => id),
    ...weights.length > 0 && { weights: Object.fromEntries(weights) },
    ...defaults.length > 0 && { defaults: Object.fromEntries(defaults) }
  }
}

function key (entry: KeyConfig, secret: ReadSecret): KeySettings {
  const { stages: guards, expiresAt, ...rest } = camelCased(KeyConfig, entry, secret)
  return {
    ...rest,
    ...guards !== undefined && { guards },
    ...expiresAt !== undefined && { expiresAtMs: parseIsoDate(expiresAt) }
  }
}

/**
 * Parses `HEADGATE_API_KEYS`: separated by commas; a key may contain spaces, but not at its ends. Keys are
 * identified by digest: by position, removing one would pass its usage and budget on to the next.
 */
export function environmentKeys (keys = ''): KeySettings[] {
  const texts = keys
    .split(',')
    .map(text => text.trim())
    .filter(text => text !== '')
  return texts.map(text => ({
    name: `environment-${hash('sha256', text).slice(0, 12)}`,
    key: new Secret(text)
  }))
}
