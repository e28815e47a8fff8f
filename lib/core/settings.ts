/**
 * The checked configuration, from which every service is built. Nothing else reads `process.env`.
 *
 * Types derive from `schemas/config`, where each entry is described; written out here is only what
 * `lib/config/build-settings` changes beyond the names: maps become lists, and a few values are resolved.
 */

import type { Config } from '../../schemas/config.ts'
import type { KeyConfig } from '../../schemas/config/keys.ts'
import type { ModelConfig } from '../../schemas/config/models.ts'
import type { ProviderConfig } from '../../schemas/config/providers.ts'
import type { RouteMapConfig } from '../../schemas/config/routes.ts'
import type { ToolServerConfig } from '../../schemas/config/tools.ts'
import type { Catalogue } from '../../schemas/catalogue.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { Secret } from './secret.ts'
import type { CamelCased } from './camel-cased.ts'

export interface ProviderSettings extends Omit<
  CamelCased<ProviderConfig>,
  'kind' | 'baseUrl' | 'listModels' | 'apiKeys' | 'proxy' | 'proxyCredentials'
> {
  /** The prefix of its models. */
  readonly id: string
  readonly kind: ProviderKind
  /** Without a trailing slash; empty for a disabled provider without an address. */
  readonly baseUrl: string
  readonly listModels: boolean
  /** Several keys instead of `apiKey`, at least one. */
  readonly apiKeys?: readonly WeightedKey[]
  /** The provider's proxy: its own, or the one that the environment names for its address. */
  readonly proxy?: ProxySettings
}

/** A proxy between the gateway and a provider. */
export interface ProxySettings {
  /** `http://host:port` or `https://host:port` */
  readonly url: string
  /** `user:password` */
  readonly credentials?: Secret
}

/** One of several keys of the gateway at a provider. */
export interface WeightedKey {
  readonly key: Secret
  /** Its share of the requests. */
  readonly weight: number
}

export type Timeouts = ProviderSettings['timeouts']
export type TlsSettings = NonNullable<ProviderSettings['tls']>
export type SlowStreamSettings = NonNullable<ProviderSettings['slowStream']>

/**
 * One entry of `models:`: adds a model, changes one of the catalogue, or hides it; with `alias`, it is only
 * another name for a model or a route.
 */
export interface ModelSettings extends CamelCased<ModelConfig> {
  readonly id: string
}

/** The models of the file that `catalogue:` names, over those that come with Headgate. */
export interface CatalogueSettings extends Catalogue {
  /** The path of the file, as the operator wrote it. */
  readonly file: string
}

/**
 * One entry of `routes:`: a name for a list of models, tried until one answers. A plain list has defaults for
 * all other fields.
 */
export interface RouteSettings extends Partial<Omit<CamelCased<RouteMapConfig>, 'models'>> {
  readonly name: string
  readonly models: readonly string[]
  /** By name as in `models`, for `weighted`. Default: 1 each. */
  readonly weights?: Readonly<Record<string, number>>
  /** By name as in `models`: fields for chat requests that lack them. */
  readonly defaults?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** A tool server of the operator: remote, or a command run on this machine (never from a request). */
export interface ToolServerSettings extends CamelCased<ToolServerConfig> {
  /** `org/name` */
  readonly slug: string
}

/** A key given by the configuration or the environment; its text is digested immediately. */
export interface KeySettings extends Omit<CamelCased<KeyConfig>, 'stages' | 'expiresAt'> {
  /** Names of the guards that inspect all its calls. */
  readonly guards?: readonly string[]
  readonly expiresAtMs?: number
}

export interface ServerSettings extends Omit<CamelCased<Config['server']>, 'workers'> {
  /** `auto` is resolved. */
  readonly workers: number
}

export type LimitSettings = CamelCased<Config['limits']>
export type ToolSettings = CamelCased<Config['tools']>
export type MetricsSettings = CamelCased<NonNullable<Config['metrics']>>

/** Sections that are lists under other names, or whose values are resolved. */
type Transformed =
  'catalogue' | 'providers' | 'models' | 'routes' | 'mcpServers' | 'stages' | 'keys' | 'server'

/** One entry of `stages:`. */
export type GuardSettings = CamelCased<Config>['stages'][number]
export type OtlpSettings = NonNullable<Settings['telemetry']['otlp']>
export type OidcSettings = NonNullable<CamelCased<Config['accounts']>['oidc']>

export interface Settings extends Omit<CamelCased<Config>, Transformed> {
  readonly server: ServerSettings
  readonly catalogue?: CatalogueSettings | undefined
  readonly providers: readonly ProviderSettings[]
  readonly models: readonly ModelSettings[]
  readonly routes: readonly RouteSettings[]
  readonly toolServers: readonly ToolServerSettings[]
  readonly guards: readonly GuardSettings[]
  readonly keys: readonly KeySettings[]
  /** An admin key with all rights, valid as long as `HEADGATE_ADMIN_KEY` has it. */
  readonly adminKey?: Secret | undefined
}
