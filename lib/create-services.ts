import { hkdfSync, randomBytes } from 'node:crypto'
import { guardedEndpoints } from './guards/stage-scope.ts'
import { AnswerCache } from './cache/answer-cache.ts'
import { MemoryEntries, SealedEntries, type SharedTexts } from './cache/entries.ts'
import { ConfiguredStages } from './guards/configured-stages.ts'
import { isDashboardServed } from './dashboard/is-served.ts'
import { Mirrors } from './deferred/mirrors.ts'
import { createToolServers } from './mcp/tool-servers.ts'
import { AbandonedAnswers } from './attempts/abandoned-answers.ts'
import { createTokenCounter } from './embeddings/token-counter.ts'
import { costHiding } from './usage/cost-header.ts'
import { ownTags } from './usage/own-tags.ts'
import { LocalLimiter, type Limiter } from './limits/limiter.ts'
import { createModels } from './models/create-models.ts'
import { startDiscovery } from './models/discovery.ts'
import { describeListFailure } from './models/model-list-failure.ts'
import { createProvider } from './providers/index.ts'
import { kinds, simulatorId } from './providers/kinds.ts'
import { localModels } from './local/local-models.ts'
import { localTransport } from './local/transport.ts'
import { sandboxModels } from './sandbox/sandbox-models.ts'
import { sandboxTransport } from './sandbox/transport.ts'
import { RouteHealth } from './routing/route-health.ts'
import type { SharedCooldown } from './coordination/cooldown-exchange.ts'
import { providerDigests, sameProviders } from './routing/same-provider.ts'
import { describeError, loggableError } from './text/describe-error.ts'
import { httpTransport } from './client/transport.ts'
import type { Alerts } from './alerts/alerts.ts'
import type { BodyRecorder } from './bodies/body-recorder.ts'
import type { BackgroundRuns } from './deferred/background-runs.ts'
import type { Deferrals } from './deferred/deferrals.ts'
import type { Judge } from './guards/text-judge.ts'
import type { Keys } from './keys/keys.ts'
import type { RecordAnswer, RecordSent } from './core/call.ts'
import type { Provider } from './providers/provider.ts'
import type { ResponseStore } from './stores/response-store.ts'
import type { Services } from './services.ts'
import type { ProviderSettings, Settings } from './core/settings.ts'
import type { Log } from './log/log.ts'

export interface OwnedServices extends Services {
  /** Resolves once every provider's own list has been read for the first time, or has failed to be. */
  readonly listed: Promise<void>
  /** Lets open calls to providers end, then closes every socket and timer. */
  readonly close: () => Promise<void>
}

export interface ServiceParts {
  readonly keys: Keys
  readonly log: Log
  /** Default: one of its own, for services that answer no calls. */
  readonly limiter?: Limiter
  readonly ready: () => boolean
  readonly degraded?: () => readonly string[]
  readonly deferrals?: Deferrals
  readonly responseStore?: ResponseStore
  readonly backgroundRuns?: BackgroundRuns
  readonly recordAnswer?: RecordAnswer
  readonly recordSent?: RecordSent
  readonly beginTrace?: Services['beginTrace']
  readonly admin?: Services['admin']
  /** Keeps the bodies that the configuration says. Default: none are kept. */
  readonly bodyRecorder?: BodyRecorder | undefined
  /** Keeps answers for several processes. Default: each keeps its own. */
  readonly sharedAnswers?: SharedTexts | undefined
  /** Called with each cooldown of a provider or a model that begins or ends here. */
  readonly onCooldown?: (cooldown: SharedCooldown) => void
  /** Providers in addition to those of the settings, whose ids they may replace. */
  readonly providers?: readonly Provider[]
  /** False: the model lists of providers are not read. Default true. */
  readonly discoverModels?: boolean
  /** The stages of the settings that are no patterns, by name; they are closed with the services. */
  readonly judges?: ReadonlyMap<string, Judge>
  /** The alerts of the settings; they are closed with the services. */
  readonly alerts?: Alerts | undefined
  /** Services of the last configuration: what they know of providers that are still the same is kept. */
  readonly previous?: Pick<Services, 'settings' | 'routeHealth'>
}

/** Creates the services of a configuration: everything that holds sockets or state. */
export function createServices (settings: Settings, parts: ServiceParts): OwnedServices {
  const {
    keys,
    log,
    limiter = new LocalLimiter(),
    ready,
    degraded,
    deferrals,
    responseStore,
    backgroundRuns,
    recordAnswer,
    recordSent,
    beginTrace,
    admin,
    bodyRecorder,
    sharedAnswers,
    onCooldown,
    providers: extraProviders = [],
    discoverModels = true,
    judges = new Map<string, Judge>(),
    alerts,
    previous
  } = parts
  const closing: Array<() => Promise<void>> = []
  const lifetime = new AbortController()
  const abandoned = new AbandonedAnswers()
  const routeHealth = new RouteHealth(undefined, onCooldown)
  if (previous !== undefined) {
    routeHealth.adopt(previous.routeHealth, sameProviders(previous.settings.providers, settings.providers))
  }
  const providers = new Map<string, Provider>()
  for (const entry of settings.providers) providers.set(entry.id, openProvider(entry, closing))
  for (const { id, apiKeys = [] } of settings.providers) {
    if (apiKeys.length > 1) routeHealth.addCredentials(id, apiKeys.map(({ weight }) => weight))
  }
  for (const provider of extraProviders) providers.set(provider.id, provider)

  const enabled = new Set([...providers.values()].filter(({ enabled }) => enabled).map(({ id }) => id))
  const models = createModels(settings, enabled, enabled.has(simulatorId) ? sandboxModels : [], {
    random: Math.random,
    latency: (modelId, streamed) => routeHealth.latencies(streamed).of(modelId),
    load: modelId => routeHealth.waiting(modelId),
    servedAtMs: (sessionId, modelId) => routeHealth.sessions.servedAtMs(sessionId, modelId)
  })
  const listing = settings.providers.filter(
    ({ id, listModels }) => discoverModels && listModels && enabled.has(id)
  )
  const onFailure = (provider: string, error: unknown): void => {
    const entry = settings.providers.find(({ id }) => id === provider)
    log.warn(
      { provider, error: entry === undefined ? describeError(error) : describeListFailure(error, entry) },
      'failed to read the model list of a provider'
    )
  }
  const discovered = startDiscovery(
    listing.flatMap(({ id, kind }) => {
      const provider = providers.get(id)
      return provider === undefined ? [] : [{ provider, kind }]
    }),
    models,
    {
      signal: lifetime.signal,
      onFailure
    }
  )
  const local = settings.providers.filter(
    ({ id, kind }) => kinds[kind].inProcess === 'programs' && enabled.has(id)
  )
  const learned = local.map(async ({ id }) => {
    try {
      models.setDiscovered(id, await localModels(id))
    } catch (error) {
      onFailure(id, error)
    }
  })

  const tools = createToolServers(settings)
  closing.push(tools.close)

  if (alerts !== undefined) closing.push(alerts.close)
  closing.push(...[...judges.values()].map(judge => async () => await judge.close?.()))

  const mirrors = settings.routes.some(({ mirror }) => mirror !== undefined) ? new Mirrors() : undefined
  if (mirrors !== undefined) closing.push(async () => await mirrors.close())

  const tokens = createTokenCounter()
  closing.push(tokens.close)

  const hidesCost = costHiding(settings.usage)
  const tagsOfKey = ownTags(settings.usage)
  return {
    settings,
    keys,
    guardedEndpoints: guardedEndpoints(settings),
    models,
    providers,
    toolServers: tools,
    abandonedAnswers: abandoned,
    routeHealth,
    ...deferrals !== undefined && { deferrals },
    ...responseStore !== undefined && { responseStore },
    ...backgroundRuns !== undefined && { backgroundRuns },
    ...recordAnswer !== undefined && { recordAnswer },
    ...recordSent !== undefined && { recordSent },
    ...beginTrace !== undefined && { beginTrace },
    ...mirrors !== undefined && { mirrors },
    ...hidesCost !== undefined && { hidesCost },
    ...tagsOfKey !== undefined && { ownTags: tagsOfKey },
    ...bodyRecorder !== undefined &&
      settings.calls.keepBodies.length > 0 && {
        captureBodies: bodyRecorder.capturing(
          settings.calls,
          [...providers.values()].flatMap(({ secrets }) => secrets)
        )
      },
    ...admin !== undefined && isDashboardServed(settings) && { admin },
    ...alerts !== undefined && { alerts },
    ...settings.stages.length > 0 && { textStages: new ConfiguredStages(settings.stages, {
      judges,
      exposesNames: settings.server.exposeStages,
      onUnavailable: (stage, { id }, cause) =>
        log.warn({ id, stage, cause: loggableError(cause) }, 'a stage could not look at a call')
    }) },
    ...settings.cache.answers !== undefined && {
      answerCache: openAnswerCache(settings, settings.cache.answers, deferrals?.secret, sharedAnswers)
    },
    tokenCounter: tokens,
    limiter,
    ready,
    ...degraded !== undefined && { degraded },
    listed: Promise.all([discovered, ...learned]).then(() => undefined),
    close: async () => {
      lifetime.abort()
      abandoned.stop()
      await Promise.all(closing.map(async close => await close()))
    }
  }
}

/** Creates services that answer no calls: to look up models and providers. They must be closed as well. */
export function createLookupServices (
  settings: Settings,
  parts: Pick<ServiceParts, 'log' | 'discoverModels'>
): OwnedServices {
  return createServices(settings, { ...parts, keys: { check: () => undefined }, ready: () => false })
}

/** @param secret of the store, which the processes that share answers have in common */
function openAnswerCache (
  { stages, providers }: Settings,
  settings: NonNullable<Settings['cache']['answers']>,
  secret: Buffer = randomBytes(32),
  shared: SharedTexts | undefined
): AnswerCache {
  return new AnswerCache({
    settings,
    entries: shared === undefined ? new MemoryEntries(settings.maxBytes) : new SealedEntries(shared),
    secret: Buffer.from(hkdfSync('sha256', secret, '', 'cached answers', 32)),
    configuration: JSON.stringify([stages, [...providerDigests(providers)]])
  })
}

function openProvider (settings: ProviderSettings, closing: Array<() => Promise<void>>): Provider {
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
