/**
 * Puts services, pipelines and the HTTP edge together; the entry of the package:
 *
 * ```ts
 * const gateway = await createGateway(settings, { keys, log })
 * const { port } = await gateway.listen()
 * ```
 */

import { randomBytes } from 'node:crypto'
import { aliasEndpoints } from '../pipelines/aliases.ts'
import { dashboardEndpoints } from '../pipelines/dashboard.ts'
import { createEndpoints } from '../pipelines/index.ts'
import { errorFormatOf } from './dialects/error-format.ts'
import { CallRecorder, type CallObserver, type CallRecorderOptions } from './gateway/call-recorder.ts'
import { DeferredWork } from './gateway/deferred-work.ts'
import { LiveServices } from './gateway/live-services.ts'
import { OpenedGateway, type OpenedGatewayOptions, type StopState } from './gateway/opened-gateway.ts'
import { lazyAdmin, openFeatures, type LazyAdmin } from './gateway/optional-features.ts'
import { openTracer } from './gateway/open-telemetry.ts'
import { allowedHosts, refuseMalformed } from './http/request-checks.ts'
import { createApp, type App, type Middleware } from './http/app.ts'
import { createHttpServer, type HttpServer } from './http/create-server.ts'
import { addLitellmHeaders } from './http/litellm-headers.ts'
import type { Address } from './http/listen.ts'
import { openFiles } from './http/open-files.ts'
import { afterImport, createLimiter, type Limiter } from './limits/limiter.ts'
import { loggableError } from './text/describe-error.ts'
import type { SharedTexts } from './cache/entries.ts'
import type { LiveConfiguration } from './config/live-configuration.ts'
import type { CooldownExchange } from './coordination/cooldown-exchange.ts'
import type { Endpoint } from './core/endpoint.ts'
import type { Settings } from './core/settings.ts'
import type { ServiceOptions } from './create-services.ts'
import type { KeyStore } from './keys/key-store.ts'
import type { OutageState } from './alerts/store-outage.ts'
import type { OpenWork } from './judges/judge-input.ts'
import type { Keys } from './keys/keys.ts'
import type { Log } from './log/log.ts'
import type { Provider } from './providers/provider.ts'
import type { Services } from './services.ts'
import type { ProviderKind } from '../schemas/providers.ts'
import type { CallTracer } from './telemetry/call-tracer.ts'
import type { Database } from './stores/database.ts'
import type { CoordinationLoad, Load } from './telemetry/metrics.ts'

export type { CallObserver }

export interface Gateway {
  readonly services: Services
  /**
   * Starts accepting calls at `settings.server` once its providers have listed their models, or a second
   * later; port 0 takes any free port.
   *
   * @param mayListen awaited when everything else is ready; resolves to the port to use instead
   */
  readonly listen: (mayListen?: () => Promise<number | undefined>) => Promise<Address>
  /** Does everything that `listen` does except opening a port, for a gateway mounted as `middleware`. */
  readonly start: () => Promise<void>
  /**
   * Returns the gateway as middleware of another Koa app: `app.use(gateway.middleware())`, after `start`. It
   * resolves when the answer is written: `ctx.status` is set then, `ctx.body` is not. Requests to other paths
   * go on to the next middleware; if that does not answer them, they get a 404 in the form of the API.
   */
  readonly middleware: () => Middleware
  /**
   * Applies a new configuration once its providers have listed their models, or 5 seconds later. Open calls
   * keep the configuration they started with. Settings that need a restart, such as the port and the store,
   * keep their values.
   */
  readonly reload: (settings: Settings) => Promise<void>
  /** The current load. */
  readonly load: () => Load
  /**
   * Reports on `/readyz` that it is stopping, accepts connections for another `shutdownDelayMs`, gives open
   * calls up to `drainMs`, ends the rest, and closes everything.
   */
  readonly close: () => Promise<void>
}

export interface GatewayOptions {
  readonly keys: Keys
  /** The same keys if they can be changed, for the admin API. Default: there is no admin API. */
  readonly keyStore?: KeyStore
  /** The configuration the gateway was started with, for the admin API. */
  readonly configuration?: LiveConfiguration
  readonly log: Log
  /**
   * The store of deferred completions and of responses; it stays open until after `close`, and must not wait
   * for locks.
   */
  readonly database?: Database
  /**
   * The store of usage rows: a separate connection that does not wait for locks, open until after `close`.
   */
  readonly usageDatabase?: Database
  /**
   * Counts the usage of limited keys. Default: this process counts, starting from the spending in
   * `usageDatabase`.
   */
  readonly limiter?: Limiter
  /** Shares state between gateways on several machines. */
  readonly coordination?: GatewayCoordination
  /** Called with every ended call. */
  readonly observers?: readonly CallObserver[]
  /** Names other parts that fail while calls continue, for `/health`. */
  readonly degraded?: () => readonly string[]
  /**
   * Creates the endpoints, at the start and for each new configuration. Default: `createEndpoints`, every
   * endpoint of the API, and the dashboard.
   */
  readonly endpoints?: (services: Services) => readonly Endpoint[]
  /** Koa middleware that runs before the gateway for every request at its port. Default: none. */
  readonly middleware?: readonly Middleware[]
  /**
   * Providers in addition to those of the settings, which they replace if the ids are equal. They stay open
   * after `close`.
   */
  readonly providers?: readonly Provider[]
}

export interface GatewayCoordination {
  /** Describes what is counted across machines, for metrics. */
  readonly load: () => CoordinationLoad
  readonly cooldowns: Pick<CooldownExchange, 'listen' | 'report'>
  /** Stores answers for all processes. Default: each process keeps its own. */
  readonly answers?: SharedTexts
  /** Notifies the other processes of waiting deferred calls. */
  readonly notifyOfTasks: () => void
  /** Calls back when deferred calls wait at another process. */
  readonly onTasks: (listener: () => void) => void
}

/**
 * Creates a gateway, which accepts no calls before `listen` or `start`.
 *
 * @throws errors of the stores and of the certificate
 */
export async function createGateway (settings: Settings, options: GatewayOptions): Promise<Gateway> {
  const opened: Opened = []
  try {
    return await openGateway(settings, options, opened)
  } catch (error) {
    for (const close of opened.toReversed()) {
      await close().catch((failure: unknown) => {
        options.log.error({ cause: loggableError(failure) }, 'cleanup after a failed start also failed')
      })
    }
    throw error
  }
}

/** Functions that close what was opened, in its order, if a later step fails. */
type Opened = Array<() => Promise<void>>

/**
 * Guards need services, services need guards, and both need the memory of the app: these three are read late,
 * when a call is served.
 */
async function openGateway (settings: Settings, options: GatewayOptions, opened: Opened): Promise<Gateway> {
  const { log, database, coordination } = options
  const tracer = await openTracer(settings, log)
  opened.push(async () => await tracer?.close())
  const stop: StopState = { isDraining: false, isClosed: false }
  const services = (): Services => live.current
  const lasting = await openLasting(options, tracer, services, opened)
  const { recorder, work, degraded, openWork, closeLast } = lasting
  const live = await LiveServices.open(settings, {
    log,
    serviceOptions: async settings => {
      let own: Services | undefined
      return {
        ...lastingOptions(lasting, options, tracer),
        ready: () => !stop.isDraining,
        holdMemory: keyId => app.admission.holdMemory(keyId),
        // guards are opened before their own services
        ...await openFeatures(settings, options, { ...lasting, services: () => own ?? services() }),
        onCreated: created => { own = created }
      }
    },
    endpoints: options.endpoints ?? (allEndpoints)
  })
  opened.push(async () => await live.close())
  const app = openApp(settings, options, { live, recorder, tracer, stop })
  const server = await openServer(settings, app, log)
  return new OpenedGateway({
    settings,
    log,
    app,
    server,
    live,
    recorder,
    stop,
    degraded,
    openWork,
    work,
    tracer,
    database,
    coordination,
    closeLast
  })
}

/** What outlives each configuration. */
interface ProcessServices {
  readonly limiter: Limiter
  readonly recorder: CallRecorder
  readonly work: DeferredWork | undefined
  /** Digests entries of counters and of the cache, which are still found after a reload. */
  readonly secret: Buffer
  /** Modules of an earlier configuration may not have finished. */
  readonly openWork: OpenWork
  /** The alert of an outage of the store, which may last longer than a configuration. */
  readonly outage: OutageState
  readonly admin: LazyAdmin | undefined
  readonly degraded: () => readonly string[]
  readonly closeLast: () => Promise<void>
}

async function openLasting (
  options: GatewayOptions,
  tracer: CallTracer | undefined,
  services: () => Services,
  opened: Opened
): Promise<ProcessServices> {
  const { log, database, usageDatabase, coordination } = options
  const ownLimiter = options.limiter === undefined ? createLimiter(usageDatabase, log) : undefined
  const limiter = options.limiter ?? ownLimiter ?? createLimiter(undefined, log)
  const admin = lazyAdmin(options)
  const closeLast = async (): Promise<void> => {
    await admin?.close()
    ownLimiter?.close()
  }
  opened.push(closeLast)
  database?.stopWaiting()
  const recorder = openRecorder(options, tracer, { limiter, services })
  opened.push(async () => await recorder.close())
  const work =
    database &&
    (await DeferredWork.open(database, {
      events: { onEnd: recorder.endDetached },
      log,
      onWaiting: coordination?.notifyOfTasks,
      services
    }))
  opened.push(async () => await work?.stop())
  return {
    limiter,
    recorder,
    work,
    secret: work?.deferrals.secret ?? randomBytes(32),
    openWork: new Map(),
    outage: {},
    admin,
    degraded: () => [
      ...(options.degraded?.() ?? []),
      ...(recorder.ledger?.degraded === true ? ['ledger'] : []),
      ...(usageDatabase?.isReachable() === false || database?.isReachable() === false ? ['store'] : []),
      ...((services().usageExports?.failures.size ?? 0) > 0 ? ['exports'] : [])
    ],
    closeLast
  }
}

/** Returns what the services of every configuration share. */
function lastingOptions (
  { limiter, recorder, work, secret, admin, degraded }: ProcessServices,
  { keys, log, coordination, providers }: GatewayOptions,
  tracer: CallTracer | undefined
): Omit<ServiceOptions, 'ready' | 'holdMemory'> {
  return {
    keys,
    log,
    providers,
    secret,
    degraded,
    journalSent: recorder.journalSent,
    onMirrored: recorder.endDetached,
    limiter: afterImport(limiter, () => recorder.importing),
    beginTrace: tracer?.begin,
    captureContent: tracer?.captureContent,
    deferrals: work?.deferrals,
    responseStore: work?.responseStore,
    backgroundRuns: work?.backgroundRuns,
    admin: admin?.open,
    sharedAnswers: coordination?.answers,
    onCooldown: coordination && (cooldown => coordination.cooldowns.report(cooldown))
  }
}

/** Opens what records calls; a tracer, if there is one, observes each ended call. */
function openRecorder (
  { keys, log, database, usageDatabase, observers = [] }: GatewayOptions,
  tracer: CallTracer | undefined,
  shared: Pick<CallRecorderOptions, 'limiter' | 'services'>
): CallRecorder {
  const { services } = shared
  const kindOf = (providerId: string): ProviderKind | undefined =>
    services().settings.providers.find(({ id }) => id === providerId)?.kind
  const traced: CallObserver | undefined = tracer && ((call, row) =>
    tracer.observe(call, row, kindOf, services().settings.server.trustProxy))
  return new CallRecorder({
    ...shared,
    keys,
    log,
    database,
    usageDatabase,
    onInterrupted: tracer?.recover,
    observers: traced === undefined ? observers : [...observers, traced]
  })
}

/** Creates every endpoint of the API, its aliases if configured, and the dashboard. */
function allEndpoints (services: Services): readonly Endpoint[] {
  const { server } = services.settings
  const endpoints = createEndpoints(services)
  return [...endpoints, ...server.aliases ? aliasEndpoints(endpoints) : [], ...dashboardEndpoints(services)]
}

/** Creates the Koa app in front of the endpoints in effect. */
function openApp (
  { server, limits }: Settings,
  { log, middleware }: GatewayOptions,
  { live, recorder, tracer, stop }: Pick<OpenedGatewayOptions, 'live' | 'recorder' | 'tracer' | 'stop'>
): App {
  return createApp({
    endpoints: live.endpoints,
    bounds: limits,
    allowsHost: allowedHosts(server),
    corsOrigins: server.corsOrigins,
    writeTimeoutMs: server.writeTimeoutMs,
    ...middleware !== undefined && { middleware },
    stop,
    errorReply: (failure, call, path) => errorFormatOf(path, call.headers)(failure, call),
    beginTrace: tracer?.begin,
    ...server.litellmHeaders && { addHeaders: addLitellmHeaders },
    journalAnswer: recorder.journalAnswer,
    onUploadDeleteFailed: error =>
      log.warn({ cause: loggableError(error) }, 'failed to delete uploaded files'),
    onEnd: recorder.end
  })
}

/**
 * Creates the HTTP server of an app.
 *
 * @throws if the certificate cannot be used
 */
async function openServer (
  { server: { tls, keepAliveMs, maxClientConnections }, limits }: Settings,
  app: App,
  log: Log
): Promise<HttpServer> {
  const opened = await createHttpServer(
    {
      keepAliveTimeout: keepAliveMs,
      headersTimeout: limits.headersMs,
      // By itself, Node.js checks for late headers only every 30 s.
      connectionsCheckingInterval: Math.min(limits.headersMs, 1000),
      requestTimeout: 0, // bodies have a separate time limit
      requireHostHeader: false, // refused by the app, with a body and an id
      maxHeaderSize: 32 * 1024
    },
    app.handle,
    tls && {
      ...tls,
      onReload: () => log.info({ certificate: tls.certificate }, 'TLS certificate reloaded'),
      onFailure: error =>
        log.error({ cause: loggableError(error) }, 'TLS certificate unusable; keeping the current one')
    }
  )
  const { server } = opened
  server.maxConnections = openFiles({ maxClientConnections }).connections
  // Node.js would drop headers beyond 2,000, including those that a proxy adds; their size is limited above.
  server.maxHeadersCount = 0
  refuseMalformed(server)
  // A caller that expects `100 Continue` before sending a body gets it when the body is read, not earlier.
  server.on('checkContinue', app.handle).on('checkExpectation', app.handle)
  return opened
}
