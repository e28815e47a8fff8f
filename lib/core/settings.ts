/**
 * The checked configuration: what `lib/config` makes of the file, the environment and the
 * defaults, and what every service is built from. Nothing else reads `process.env`.
 */

import type { ProviderKind } from '../../schemas/providers.ts'
import type { Secret } from './secret.ts'
import type { KeyLimits } from './key.ts'
import type { Quirks } from './quirks.ts'

export interface ProviderSettings {
  /** The prefix of its models. */
  readonly id: string
  readonly kind: ProviderKind
  /** False: only for calls that bring their own key to it. */
  readonly enabled: boolean
  readonly baseUrl: string
  readonly apiKey?: Secret
  /** Sent with every request to it. */
  readonly headers: Readonly<Record<string, Secret>>
  readonly timeouts: Timeouts
  /** Further attempts at the same model after a transient failure, before the first byte. */
  readonly retries: number
  readonly onDisconnect: 'abort' | 'drain'
  /** Sockets to it, per process. */
  readonly connections: number
  /** What the operator adds to the quirks of the kind. */
  readonly quirks: Quirks
  /** Merge the provider's own model list into ours. */
  readonly listModels: boolean
  /** Whatever only this kind understands (`api_version` of Azure, the pace of the sandbox). */
  readonly options: Readonly<Record<string, unknown>>
}

/**
 * One entry of `models:`: adds a model, changes one of the catalogue, hides it; or, with `alias`, is
 * only another name for a model or a route.
 */
export interface ModelSettings {
  readonly id: string
  readonly alias?: string
  readonly hidden: boolean
  readonly status?: 'enabled' | 'disabled' | 'preview' | 'deprecated'
  readonly displayName?: string
  readonly description?: string
  readonly capabilities?: Readonly<Record<string, boolean | number>>
  /** USD per million tokens. */
  readonly price?: { readonly input?: number, readonly output?: number, readonly cachedInput?: number }
  /** What it is like, each from 0 to 1. */
  readonly attributes?: Readonly<Record<string, number>>
}

/** How the models of a route are put in order: as listed, drawn by weight, by price, by time to the first byte. */
export const routeStrategies = ['in_order', 'weighted', 'cheapest', 'fastest'] as const
export type RouteStrategy = typeof routeStrategies[number]

/** One entry of `routes:`: a name for a list of models, tried until one answers. */
export interface RouteSettings {
  readonly name: string
  readonly models: readonly string[]
  /** Default `in_order`. */
  readonly strategy?: RouteStrategy
  /** By name as listed in `models`, for `weighted`. Default: 1 each. */
  readonly weights?: Readonly<Record<string, number>>
}

/** A tool server of the operator: remote, or a command run here (never from a request). */
export interface ToolServerSettings {
  /** `org/name` */
  readonly slug: string
  readonly url?: string
  readonly headers: Readonly<Record<string, Secret>>
  readonly command?: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, Secret>>
  readonly timeoutMs?: number
  readonly allowedTools?: readonly string[]
}

/** A key given by the configuration or the environment; the text itself is digested at once. */
export interface KeySettings {
  readonly name: string
  readonly key: Secret
  readonly endpoints?: readonly string[]
  readonly models?: readonly string[]
  readonly expiresAtMs?: number
  readonly limits?: KeyLimits
}

export interface Limits {
  readonly jsonBodyBytes: number
  readonly jsonDepth: number
  readonly audioFileBytes: number
  readonly documentBytes: number
  /** Bytes of one whole answer of a provider, decoded. */
  readonly answerBytes: number
  /** Bytes of one event of a provider's stream. */
  readonly eventBytes: number
  /** Calls under way at once; more are 503 `overloaded`. */
  readonly openCalls: number
  /** Deadline of a call. */
  readonly callMs: number
  readonly bodyMs: number
  readonly headersMs: number
  /** Of keys that have none of their own. */
  readonly defaultKey?: KeyLimits
}

export interface ToolSettings {
  /** Resolving, connecting and listing all servers of a call, together. */
  readonly connectMs: number
  readonly callMs: number
  /** Wall clock of all turns of a call. */
  readonly loopMs: number
  /** Tokens of all turns of a call, as far as providers count them; checked between turns. */
  readonly loopTokens: number
  readonly resultBytes: number
  readonly callsPerTurn: number
  /** The same call with the same arguments, before the loop stops. */
  readonly repeats: number
  readonly listTtlMs: number
  readonly sessionIdleMs: number
  readonly sessions: number
  /** Hosts or CIDR ranges callers' URLs may reach although they are not public. */
  readonly allowedHosts: readonly string[]
  readonly registryUrl?: string
}

/** How much of the books is kept. */
export interface UsageSettings {
  readonly keepDays: number
  readonly keepRows: number
}

export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly logLevel: string
  /** Where the embedded store lives. */
  readonly dataDir: string
  /** True: `/health` answers without a key. */
  readonly openHealth: boolean
  /** How long open calls may go on after SIGTERM. */
  readonly drainMs: number
  readonly keepAliveMs: number
}

/** Where metrics are read. */
export interface MetricsSettings {
  readonly host: string
  readonly port: number
}

export interface Settings {
  readonly server: ServerSettings
  /** Absent: there are none. */
  readonly metrics?: MetricsSettings
  readonly limits: Limits
  readonly tools: ToolSettings
  readonly providers: readonly ProviderSettings[]
  readonly models: readonly ModelSettings[]
  readonly routes: readonly RouteSettings[]
  readonly toolServers: readonly ToolServerSettings[]
  readonly keys: readonly KeySettings[]
  readonly usage: UsageSettings
  readonly deferred: { readonly emulate: boolean, readonly keepMs: number, readonly pending: number, readonly keyBytes: number }
}

/** All in milliseconds. */
export interface Timeouts {
  readonly connectMs: number
  /** Until the answer head of a streamed request. */
  readonly firstByteMs: number
  /** Until the answer head of a whole request, which comes only with its body. */
  readonly responseMs: number
  /** Between two reads of a body, comments included. */
  readonly idleBytesMs: number
  /** Between two reads that held an event. */
  readonly idleEventsMs: number
}
