/** Creates the services of a configuration, and closes what they hold. */

import { hkdfSync, randomBytes } from 'node:crypto'
import { inspectedEndpoints } from './guards/guard-scope.ts'
import { AnswerCache } from './cache/answer-cache.ts'
import { MemoryEntries, SealedEntries, type SharedTexts } from './cache/entries.ts'
import { configuredGuards } from './guards/configured-guards.ts'
import { isDashboardServed } from './dashboard/is-served.ts'
import { Mirrors } from './deferred/mirrors.ts'
import { createToolServers } from './mcp/tool-servers.ts'
import { AbandonedAnswers } from './attempts/abandoned-answers.ts'
import { createTokenCounter } from './embeddings/token-counter.ts'
import { costHiding, ownTags, routeTags } from './usage/usage-settings.ts'
import { endUserDigest } from './stores/end-user-digests.ts'
import { projectIdOf } from './core/key.ts'
import { LocalLimiter, type Limiter } from './limits/limiter.ts'
import { createModels, type UpdatableModelRegistry } from './models/create-models.ts'
import { startDiscovery } from './models/discovery.ts'
import { describeListFailure } from './models/model-list-failure.ts'
import { createProvider } from './providers/index.ts'
import { kinds, simulatorId } from './providers/kinds.ts'
import { localModels } from './local/local-models.ts'
import { localTransport } from './local/transport.ts'
import { sandboxModels } from './sandbox/sandbox-models.ts'
import { sandboxTransport } from './sandbox/transport.ts'
import { RoutingState } from './routing/routing-state.ts'
import type { SharedCooldown } from './coordination/cooldown-exchange.ts'
import { providerDigests, sameProviders } from './routing/same-provider.ts'
import { describeError, loggableError } from './text/describe-error.ts'
import { httpTransport } from './client/transport.ts'
import type { HoldMemory } from './core/held-memory.ts'
import type { RecordRules } from './core/record-rules.ts'
import type { BodyRecorder } from './bodies/body-recorder.ts'
import type { CaptureBodies } from './core/body-capture.ts'
import type { TextGuards } from './guards/text-guards.ts'
import type { Judge } from './guards/text-judge.ts'
import type { Provider } from './providers/provider.ts'
import type { Services } from './services.ts'
import type { Call } from './core/call.ts'
import type { CaptureContent } from './telemetry/span-content.ts'
import type { ProviderSettings, Settings } from './core/settings.ts'
import type { Log } from './log/log.ts'

export interface OwnedServices extends Services {
  readonly models: UpdatableModelRegistry
  /** Resolves once every provider's own list has been read for the first time, or could not be. */
  readonly listed: Promise<void>
  /** Lets open calls to providers end, then closes every socket and timer. */
  readonly close: () => Promise<void>
}

/** Services created elsewhere: `createServices` passes them on. */
type GivenServices = Pick<
  Services,
  | 'keys'
  | 'ready'
  | 'degraded'
  | 'deferrals'
  | 'responseStore'
  | 'backgroundRuns'
  | 'journalSent'
  | 'namedBudgets'
  | 'admin'
  | 'alerts'
  | 'usageExports'
>

/** Alerts, exports and judges are closed with the services. */
export interface ServiceOptions extends GivenServices {
  readonly log: Log
  /**
   * Keys the digests of names and texts: the store's secret, or one of the process without a store. Default:
   * a new one, for services that answer no calls.
   */
  readonly secret?: Buffer
  /** Default: a new one, for services that answer no calls. */
  readonly limiter?: Limiter
  /** Limits what arrives from tool servers together with the calls. Default: unlimited. */
  readonly holdMemory?: HoldMemory
  readonly beginTrace?: RecordRules['beginTrace']
  /** Stores bodies according to the configuration. Default: none are kept. */
  readonly bodyRecorder?: BodyRecorder | undefined
  /** Captures the texts of calls for their spans. Default: spans have none. */
  readonly captureContent?: CaptureContent | undefined
  /** Stores answers for several processes. Default: each process keeps its own. */
  readonly sharedAnswers?: SharedTexts | undefined
  /** Called when a cooldown of a provider or a model begins or ends in this process. */
  readonly onCooldown?: ((cooldown: SharedCooldown) => void) | undefined
  /** Providers in addition to those of the settings, whose ids they may replace. */
  readonly providers?: readonly Provider[] | undefined
  /** False if the model lists of providers are not read. Default true. */
  readonly discoverModels?: boolean
  /** The configured guards other than patterns, by name. */
  readonly judges?: ReadonlyMap<string, Judge>
  /** Services of the last configuration: what they know about unchanged providers is kept. */
  readonly previous?: Pick<OwnedServices, 'settings' | 'routingState' | 'models'>
  /** Records a mirrored call that has ended. Default: they are not recorded. */
  readonly onMirrored?: (call: Call) => void
  /** Called with the services, for parts that were opened before them. */
  readonly onCreated?: (services: Services) => void
}

/** Functions that close what services hold. */
type Closing = Array<() => Promise<void>>

/** Creates the services of a configuration: everything that holds sockets or state. */
export function createServices (settings: Settings, options: ServiceOptions): OwnedServices {
  const {
    log,
    secret = randomBytes(32),
    limiter = new LocalLimiter(),
    holdMemory,
    beginTrace,
    bodyRecorder,
    captureContent,
    sharedAnswers,
    onCooldown,
    providers: extraProviders = [],
    discoverModels = true,
    judges = new Map<string, Judge>(),
    previous,
    onMirrored,
    onCreated,
    ...given
  } = options
  const closing: Closing = []
  const lifetime = new AbortController()
  const abandonedAnswers = new AbandonedAnswers()
  const routingState = createRoutingState(settings, onCooldown, previous)
  const providers = openProviders(settings, extraProviders, closing)
  const models = createModelRegistry(settings, providers, { routingState, previous })
  const enabled = settings.providers.filter(({ id }) => providers.get(id)?.enabled)
  const listed = learnModels(enabled, { providers, models, log, discoverModels, signal: lifetime.signal })
  const toolServers = createToolServers(settings, holdMemory)
  const hasMirrors = settings.routes.some(({ mirror }) => mirror !== undefined)
  const mirrors = hasMirrors ? new Mirrors(onMirrored) : undefined
  const tokenCounter = createTokenCounter()
  const { alerts, usageExports } = given
  for (const service of [toolServers, tokenCounter, mirrors, alerts, usageExports, ...judges.values()]) {
    closing.push(async () => await service?.close?.())
  }
  const services: OwnedServices = {
    ...given,
    settings,
    models,
    providers,
    toolServers,
    abandonedAnswers,
    routingState,
    tokenCounter,
    limiter,
    listed,
    mirrors,
    recordRules: {
      beginTrace,
      captureBodies: capturing(settings, providers, bodyRecorder, captureContent),
      inspectedEndpoints: inspectedEndpoints(settings),
      hidesCost: costHiding(settings.usage),
      ownTags: ownTags(settings.usage),
      routeTags: routeTags(settings.usage),
      acceptsAnyMetadata: settings.server.compatibility === 'litellm',
      digestEndUsers: endUserDigests(settings, secret)
    },
    admin: isDashboardServed(settings) ? given.admin : undefined,
    textGuards: openGuards(settings, judges, log, secret),
    answerCache: openAnswerCache(settings, secret, sharedAnswers),
    close: async () => {
      lifetime.abort()
      abandonedAnswers.stop()
      await Promise.all(closing.map(async close => await close()))
    }
  }
  onCreated?.(services)
  return services
}

/**
 * Creates services that answer no calls, to look up models and providers. They must be closed as well. They
 * have no guards, since those may run modules.
 */
export function createLookupServices (
  settings: Settings,
  options: Pick<ServiceOptions, 'log' | 'discoverModels'>
): OwnedServices {
  return createServices(
    { ...settings, guards: [] },
    { ...options, keys: { check: () => undefined }, ready: () => false }
  )
}

/** Opens the health of routes, keeping what the last configuration knew about the same providers. */
function createRoutingState (
  settings: Settings,
  onCooldown: ServiceOptions['onCooldown'],
  previous: ServiceOptions['previous']
): RoutingState {
  const routingState = new RoutingState(undefined, onCooldown)
  if (previous !== undefined) {
    routingState.adopt(previous.routingState, sameProviders(previous.settings.providers, settings.providers))
  }
  for (const { id, apiKeys = [] } of settings.providers) {
    if (apiKeys.length > 1) routingState.addCredentials(id, apiKeys.map(({ weight }) => weight))
  }
  return routingState
}

/** Opens the providers of the settings and adds others, which replace those with the same id. */
function openProviders (
  settings: Settings,
  others: readonly Provider[],
  closing: Closing
): ReadonlyMap<string, Provider> {
  const providers = settings.providers.map(entry => openProvider(entry, closing))
  return new Map([...providers, ...others].map(provider => [provider.id, provider]))
}

function openProvider (settings: ProviderSettings, closing: Closing): Provider {
  const { inProcess } = kinds[settings.kind]
  if (inProcess === 'programs') return createProvider(settings, localTransport())
  if (inProcess === 'simulator') return createProvider(settings, sandboxTransport(settings.options))
  const transport = httpTransport({
    baseUrl: settings.baseUrl,
    connections: settings.maxConnections,
    maxWaiting: settings.maxWaitingCalls,
    maxWaitingMs: settings.maxWaitingMs,
    connectMs: settings.timeouts.connectMs,
    headers: settings.headers,
    proxy: settings.proxy,
    tls: settings.tls,
    http2: settings.http2
  })
  closing.push(transport.close)
  return createProvider(settings, transport)
}

/** Opens the models, with what unchanged providers listed for the last configuration. */
function createModelRegistry (
  settings: Settings,
  providers: ReadonlyMap<string, Provider>,
  { routingState, previous }: {
    readonly routingState: RoutingState
    readonly previous: ServiceOptions['previous']
  }
): UpdatableModelRegistry {
  const enabled = new Set([...providers.values()].filter(({ enabled }) => enabled).map(({ id }) => id))
  const models = createModels(settings, enabled, enabled.has(simulatorId) ? sandboxModels : [], {
    random: Math.random,
    latency: (modelId, streamed) => routingState.latencies(streamed).of(modelId),
    load: modelId => routingState.waiting(modelId),
    servedAtMs: (sessionId, modelId) => routingState.sessions.servedAtMs(sessionId, modelId)
  })
  if (previous === undefined) return models
  const isSame = sameProviders(previous.settings.providers, settings.providers)
  for (const [id, listed] of previous.models.discovered) if (isSame(id)) models.setDiscovered(id, listed)
  return models
}

interface ModelDiscovery {
  readonly providers: ReadonlyMap<string, Provider>
  readonly models: UpdatableModelRegistry
  readonly log: Log
  readonly discoverModels: boolean
  readonly signal: AbortSignal
}

/**
 * Reads the models that providers list themselves: repeatedly over their APIs, once for programs of this
 * machine. Resolves when each list has been read, or could not be.
 */
async function learnModels (
  settings: readonly ProviderSettings[],
  { providers, models, log, discoverModels, signal }: ModelDiscovery
): Promise<void> {
  const onFailure = (provider: string, error: unknown): void => {
    const entry = settings.find(({ id }) => id === provider)
    log.warn(
      { provider, error: entry === undefined ? describeError(error) : describeListFailure(error, entry) },
      'failed to read the model list of a provider'
    )
  }
  const discovered = startDiscovery(
    settings.filter(({ listModels }) => discoverModels && listModels).flatMap(({ id, kind }) => {
      const provider = providers.get(id)
      return provider === undefined ? [] : [{ provider, kind }]
    }),
    models,
    { signal, onFailure }
  )
  const local = settings.filter(({ kind }) => kinds[kind].inProcess === 'programs')
  const learned = local.map(async ({ id }) => {
    try {
      models.setDiscovered(id, await localModels(id))
    } catch (error) {
      onFailure(id, error)
    }
  })
  await Promise.all([discovered, ...learned])
}

/**
 * @param secret of the store
 * @returns `undefined` if names of end users are stored as given
 */
function endUserDigests ({ endUsers }: Settings, secret: Buffer): RecordRules['digestEndUsers'] {
  if (endUsers.store === 'as_given') return undefined
  const digest = endUserDigest(secret)
  return key => {
    const projectId = projectIdOf(key)
    return name => digest(projectId, name)
  }
}

/** Returns the capture of bodies; `undefined` if none are kept. */
function capturing (
  { calls, endUsers }: Settings,
  providers: ReadonlyMap<string, Provider>,
  bodyRecorder: BodyRecorder | undefined,
  captureContent: CaptureContent | undefined
): CaptureBodies | undefined {
  const secrets = [...providers.values()].flatMap(provider => provider.secrets)
  const kept = calls.keepBodies.length > 0
    ? bodyRecorder?.capturing({ ...calls, endUsers }, secrets)
    : undefined
  return captureContent === undefined ? kept : captureContent(secrets, kept)
}

/**
 * Opens the configured guards; `undefined` if there are none.
 *
 * @param secret of the store, for placeholder names of reversible guards
 */
function openGuards (
  { guards, server }: Settings,
  judges: ReadonlyMap<string, Judge>,
  log: Log,
  secret: Buffer
): TextGuards | undefined {
  if (guards.length === 0) return undefined
  return configuredGuards(guards, {
    judges,
    exposesNames: server.exposeStages,
    secret,
    onUnavailable: (guard, { id }, cause) =>
      log.warn({ id, stage: guard, cause: loggableError(cause) }, 'a guard was unavailable for a call')
  })
}

/**
 * Opens the cache of answers; `undefined` if the configuration has none.
 *
 * @param secret of the store, shared by the processes that share answers
 */
function openAnswerCache (
  { guards, providers, cache: { answers } }: Settings,
  secret: Buffer,
  shared: SharedTexts | undefined
): AnswerCache | undefined {
  if (answers === undefined) return undefined
  return new AnswerCache({
    settings: answers,
    entries: shared === undefined ? new MemoryEntries(answers.maxBytes) : new SealedEntries(shared),
    secret: Buffer.from(hkdfSync('sha256', secret, '', 'cached answers', 32)),
    configuration: JSON.stringify([guards, [...providerDigests(providers)]])
  })
}
