/**
 * Puts services, pipelines and the HTTP edge together. The one place that knows everything, and the entry of the
 * package:
 *
 * ```ts
 * const gateway = await createGateway(settings, { keys, log })
 * const { port } = await gateway.listen()
 * ```
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { deferredChat } from '../pipelines/chat.ts'
import { dashboardEndpoints } from '../pipelines/dashboard.ts'
import { createEndpoints } from '../pipelines/index.ts'
import { openDeferrals } from './deferred/deferrals.ts'
import { createTaskAnswerer } from './deferred/answer-task.ts'
import { BackgroundRuns } from './deferred/background-runs.ts'
import type { CallEvents } from './deferred/detached-call.ts'
import { TaskRunner } from './deferred/task-runner.ts'
import { GatewayError } from './core/errors.ts'
import { errorFormatOf } from './dialects/error-format.ts'
import { allowedHosts } from './http/allowed-hosts.ts'
import { createApp, type Middleware } from './http/app.ts'
import { createHttpServer } from './http/create-server.ts'
import { stopAccepting } from './http/node-internals.ts'
import { refuseMalformed } from './http/refuse-malformed.ts'
import { sweepUploads } from './http/upload-directory.ts'
import { listen, type Address } from './http/listen.ts'
import { createLimiter, type Limiter } from './limits/limiter.ts'
import { recordedUsages } from './limits/units.ts'
import { createServices, type OwnedServices } from './create-services.ts'
import { providerDigests } from './routing/same-provider.ts'
import { warmUp } from './validation/compile-check.ts'
import { logCall } from './telemetry/call-log.ts'
import { loggableError } from './text/describe-error.ts'
import { Ledger } from './usage/ledger.ts'
import { CallRecorder } from './limits/call-recorder.ts'
import { withTimeout } from './async/with-timeout.ts'
import type { BodyRecorder } from './bodies/body-recorder.ts'
import type { Call } from './core/call.ts'
import type { Endpoint } from './core/endpoint.ts'
import type { Admin } from './accounts/admin.ts'
import type { Keys } from './keys/keys.ts'
import type { LiveConfiguration } from './config/live-configuration.ts'
import type { KeyStore } from './keys/key-store.ts'
import type { Provider } from './providers/provider.ts'
import type { Services } from './services.ts'
import type { CooldownExchange } from './coordination/cooldown-exchange.ts'
import type { SharedCooldown } from './coordination/cooldown-exchange.ts'
import { CallBodyStore } from './stores/call-body-store.ts'
import { ResponseStore, type ResponseStoreOptions } from './stores/response-store.ts'
import type { Database } from './stores/database.ts'
import type { UsageRow } from './stores/tables.ts'
import type { Settings } from './core/settings.ts'
import type { Log } from './log/log.ts'
import type { CoordinationLoad, Load } from './telemetry/metrics.ts'

export interface Gateway {
  readonly services: Services
  /**
   * Starts to accept calls at `settings.server`, once its providers have listed their models, or a second later; port 0
   * takes any free one.
   *
   * @param mayListen awaited when everything else is ready; resolves to the port to use instead
   */
  readonly listen: (mayListen?: () => Promise<number | undefined>) => Promise<Address>
  /** Starts what `listen` starts beside its port, for a gateway that is mounted as `middleware`. */
  readonly start: () => Promise<void>
  /**
   * Returns the gateway as middleware of another Koa app: `app.use(gateway.middleware())`, after `start`. It resolves when the
   * answer is written: `ctx.status` is set then, `ctx.body` is not. A path that it does not serve goes on to the next
   * middleware; what that does not answer is 404 in the form of the API.
   */
  readonly middleware: () => Middleware
  /**
   * Applies a new configuration once its providers have listed their models, or 5 seconds later. Open calls
   * keep the configuration they started with. Of the `server` settings only `publicHealth` is applied; the
   * others take effect at the next start.
   */
  readonly reload: (settings: Settings) => Promise<void>
  /** The current load. */
  readonly load: () => Load
  /**
   * Says on `/readyz` that it stops, accepts connections for another `shutdownDelayMs`, gives open calls up
   * to `drainMs`, ends the rest, and closes everything.
   */
  readonly close: () => Promise<void>
}

export interface GatewayParts {
  readonly keys: Keys
  /** The same keys where they can be changed, for the admin API. Default: there is no admin API. */
  readonly keyStore?: KeyStore
  /** The configuration it was started with, for the admin API. */
  readonly configuration?: LiveConfiguration
  readonly log: Log
  /** The store of deferred completions and of responses; it stays open until after `close`, and waits for no lock from now on. */
  readonly database?: Database
  /** The store of usage rows: a connection of its own that waits for no lock, open until after `close`. */
  readonly usageDatabase?: Database
  /** Counts what limited keys use. Default: this process, from what `usageDatabase` says was spent. */
  readonly limiter?: Limiter
  /** Carries what gateways on several machines share. */
  readonly coordination?: GatewayCoordination
  /** Called with every call that has ended. */
  readonly observers?: readonly CallObserver[]
  /** Names what else does not work while calls go on, for `/health`. */
  readonly degraded?: () => readonly string[]
  /**
   * Creates the endpoints, at the start and after each change of the configuration: the same paths
   * in the same order for any services. Default: `createEndpoints`, every endpoint of the API, and the page of the dashboard.
   */
  readonly endpoints?: (services: Services) => readonly Endpoint[]
  /** Koa middleware that runs in front of the gateway for every request at its port. Default: none. */
  readonly middleware?: readonly Middleware[]
  /** Providers in addition to those of the settings, which they replace where the ids are the same. They stay open after `close`. */
  readonly providers?: readonly Provider[]
}

export interface GatewayCoordination {
  /** Describes what counts for several machines, for metrics. */
  readonly load: () => CoordinationLoad
  readonly cooldowns: Pick<CooldownExchange, 'listen' | 'report'>
  /** Notifies the others that deferred calls wait. */
  readonly notifyOfTasks: () => void
  /** Calls back when deferred calls wait at another one. */
  readonly onTasks: (listener: () => void) => void
}

/**
 * Receives a call once its answer is written or given up and its record is complete, with its usage
 * row; there is none for a call without a valid key.
 */
export type CallObserver = (call: Call, row?: UsageRow) => void

/** The first calls of a busy gateway come at once, and compile what they need themselves. */
const warmUpAfterMs = 200

/** Longest wait for model lists before a new configuration is used: some model names are known only from them. */
const modelListTimeoutMs = 5000
/** The same before the first call is accepted. Shorter: a server that is away delays a start, and no call is served meanwhile. */
const firstModelListTimeoutMs = 1000

/** Milliseconds between two looks for stored responses and bodies of calls that have expired: they are hidden in any case. */
const expireEveryMs = 60_000

function storeOptions ({ responses: { store, keepMs, maxBytesPerKey }, limits }: Settings): ResponseStoreOptions {
  return { keeps: store, keepMs, maxBytesPerKey, maxBodyBytes: limits.storedBodyBytes, maxItems: limits.chatMessages, maxBytes: limits.jsonBodyTotalBytes }
}

/** Loads what the admin API works with, when it is first used. */
async function openAdmin (database: Database, keys: KeyStore, configuration: LiveConfiguration | undefined): Promise<Admin> {
  const { Admin } = await import('./accounts/admin.ts')
  return new Admin(database, keys, configuration)
}

export async function createGateway (settings: Settings, given: GatewayParts): Promise<Gateway> {
  const { keys, keyStore, configuration, log, database, usageDatabase, coordination, observers = [], providers = [] } = given
  const ownLimiter = given.limiter === undefined ? createLimiter(usageDatabase, log) : undefined
  const limiter = given.limiter ?? ownLimiter ?? createLimiter(undefined, log)
  const endpointsFor = given.endpoints ?? ((services: Services) => [...createEndpoints(services), ...dashboardEndpoints(services)])
  let draining = false
  const ready = (): boolean => !draining
  const ledger = usageDatabase === undefined ? undefined : new Ledger(usageDatabase, {
    log,
    retention: () => services.settings.usage,
    beforeImported: async rows => {
      const usages = recordedUsages(rows, id => keys.find?.(id), services.settings.limits.defaultKeyLimits)
      await limiter.settleRecorded(usages).catch((error: unknown) => {
        log.warn({ cause: loggableError(error) }, 'failed to settle what a killed process had reserved; it is released later')
      })
    }
  })
  const storeReachable = (): boolean => usageDatabase?.isReachable() !== false && database?.isReachable() !== false
  const degraded = (): string[] => [
    ...given.degraded?.() ?? [],
    ...ledger?.degraded === true ? ['ledger'] : [],
    ...storeReachable() ? [] : ['store']
  ]
  database?.stopWaiting()
  const deferrals = database === undefined ? undefined : await openDeferrals(database)
  const responseStore = database === undefined ? undefined : new ResponseStore(database, () => storeOptions(services.settings))
  const detached: CallEvents = {
    onEnd: call => {
      onEnd(call)
      ledger?.flushJournal() // before anyone can fetch the answer
    }
  }
  const backgroundRuns = responseStore === undefined ? undefined : new BackgroundRuns(responseStore, {
    events: detached,
    maxRunning: () => services.settings.deferred.maxPending,
    onFailure: error => log.error({ error: String(error) }, 'background response or its store failed')
  })
  const recorder = new CallRecorder({ ledger, limiter, models: () => services.models })
  let opened: Promise<Admin> | undefined
  const admin = database === undefined || keyStore === undefined ? undefined : async () => await (opened ??= openAdmin(database, keyStore, configuration))
  const bodyStore = database === undefined ? undefined : new CallBodyStore(database)
  let bodyRecorder: BodyRecorder | undefined
  /** Loads what keeps bodies with the first configuration by which some are kept. */
  const openBodyRecorder = async ({ calls }: Settings): Promise<BodyRecorder | undefined> => {
    if (bodyStore === undefined || calls.keepBodies.length === 0) return bodyRecorder
    const { BodyRecorder } = await import('./bodies/body-recorder.ts')
    return bodyRecorder ??= new BodyRecorder(bodyStore, {
      maxMemoryBytes: () => services.settings.calls.keptMemoryBytes,
      onFailure: error => log.error({ cause: loggableError(error) }, 'failed to store the bodies of a call')
    })
  }
  const recordAnswer = (call: Call): Promise<void> | undefined => {
    const { toolCallIds, providerId } = call.record
    if (toolCallIds !== undefined && providerId !== undefined) services.routeHealth.toolCalls.note(toolCallIds, providerId)
    return recorder.recordBeforeLastByte(call)
  }
  const parts = {
    keys, log, limiter, ready, degraded, providers, ...deferrals !== undefined && { deferrals }, ...responseStore !== undefined && { responseStore },
    ...backgroundRuns !== undefined && { backgroundRuns }, ...admin !== undefined && { admin },
    recordAnswer,
    recordSent: (call: Call, isFree?: boolean) => recorder.recordSent(call, isFree),
    ...coordination !== undefined && { onCooldown: (cooldown: SharedCooldown) => coordination.cooldowns.report(cooldown) }
  }
  let services: OwnedServices = createServices(settings, { ...parts, bodyRecorder: await openBodyRecorder(settings) })
  let endpoints: readonly Endpoint[] = endpointsFor(services)
  let digests = providerDigests(settings.providers)

  const onEnd = (call: Call): void => {
    const safely = <T>(observe: () => T): T | undefined => {
      try {
        return observe()
      } catch (error) {
        log.error({ id: call.id, cause: loggableError(error) }, 'call observer failed')
        return undefined
      }
    }
    const row = safely(() => recorder.end(call))
    safely(() => bodyRecorder?.end(call, row))
    safely(() => logCall(log, call, row))
    for (const observe of observers) safely(() => observe(call, row))
  }
  const app = createApp({
    endpoints: () => endpoints,
    limits: settings.limits,
    allowsHost: allowedHosts(settings.server),
    corsOrigins: settings.server.corsOrigins,
    writeTimeoutMs: settings.server.writeTimeoutMs,
    ...given.middleware !== undefined && { middleware: given.middleware },
    draining: () => draining,
    errorReply: (failure, call, path) => errorFormatOf(path, call.headers)(failure, call),
    beforeLastByte: recordAnswer,
    onUploadDeleteFailed: error => log.warn({ cause: loggableError(error) }, 'failed to delete uploaded files'),
    onEnd
  })
  const tasks = deferrals === undefined ? undefined : new TaskRunner(deferrals, {
    run: async (task, signal) => await createTaskAnswerer(services, deferredChat(services), detached)(task, signal),
    keepMs: () => services.settings.deferred.keepMs,
    onFailure: error => log.error({ error: String(error) }, 'failed to run or store a deferred completion'),
    ...coordination !== undefined && { onWaiting: coordination.notifyOfTasks }
  })
  const expiring = setInterval(() => {
    responseStore?.expire(Date.now()).catch((error: unknown) => log.error({ error: String(error) }, 'failed to delete expired responses'))
    bodyStore?.expire(Date.now(), services.settings.usage.keepDays).catch((error: unknown) => log.error({ error: String(error) }, 'failed to delete expired bodies of calls'))
  }, expireEveryMs).unref()
  const { tls } = settings.server
  const { server, close: closeServer } = await createHttpServer({
    keepAliveTimeout: settings.server.keepAliveMs,
    headersTimeout: settings.limits.headersMs,
    // Node looks for late headers only every 30 s by itself.
    connectionsCheckingInterval: Math.min(settings.limits.headersMs, 1000),
    requestTimeout: 0, // bodies have a clock of their own
    requireHostHeader: false, // refused by the app, with a body and an id
    maxHeaderSize: 32 * 1024
  }, app.handle, tls && {
    ...tls,
    onReload: () => log.info({ certificate: tls.certificate }, 'TLS certificate reloaded'),
    onFailure: error => log.error({ cause: loggableError(error) }, 'TLS certificate unusable; keeping the current one')
  })
  server.maxConnections = settings.server.maxClientConnections
  refuseMalformed(server)
  // A caller that expects `100 Continue` before sending a body gets it when the body is read, not before.
  server.on('checkContinue', app.handle).on('checkExpectation', app.handle)

  /** Calls that come over connections kept alive while others end are waited for as well. */
  const waitUntilIdle = async (): Promise<void> => { while (app.openCalls() > 0) await app.whenIdle() }

  /** Services of earlier configurations whose calls have not all ended. */
  const outgoing = new Set<OwnedServices>()
  /** One reload at a time: the last one requested is the one that stays. */
  let reloaded: Promise<void> = Promise.resolve()
  const applySettings = async (next: Settings): Promise<void> => {
    const opened = createServices(next, { ...parts, bodyRecorder: await openBodyRecorder(next), previous: services })
    await withTimeout(modelListTimeoutMs, opened.listed)
    if (draining) {
      await opened.close()
      return
    }
    const before = services
    endpoints = endpointsFor(opened)
    app.applyLimits(next.limits)
    server.headersTimeout = next.limits.headersMs
    services = opened
    digests = providerDigests(next.providers)
    outgoing.add(before)
    void Promise.all([app.whenIdle(), tasks?.whenIdle(), backgroundRuns?.whenIdle()]).then(async () => await before.close()).catch((error: unknown) => {
      log.error({ error }, 'failed to close services of the previous configuration')
    }).finally(() => outgoing.delete(before))
  }

  const prepare = async (): Promise<void> => {
    const listed = withTimeout(firstModelListTimeoutMs, services.listed)
    await sweepUploads().catch((error: unknown) => {
      log.warn({ error }, 'failed to delete uploads of an earlier process')
    })
    await ledger?.importJournals()
    await listed
  }
  const begin = (): void => {
    tasks?.start()
    coordination?.onTasks(() => tasks?.look())
    coordination?.cooldowns.listen({
      digestOf: id => digests.get(id),
      learn: (cooldown, origin) => services.routeHealth.learn(cooldown, origin)
    })
    backgroundRuns?.start()
    setTimeout(() => {
      warmUp()
      services.toolServers.warmUp().catch((error: unknown) => log.error({ error }, 'failed to load the client of tool servers'))
    }, warmUpAfterMs).unref()
  }

  return {
    get services () { return services },
    start: async () => {
      await prepare()
      begin()
    },
    middleware: () => app.middleware,
    listen: async mayListen => {
      await prepare()
      const { host } = settings.server
      const address = await listen(server, { host, port: await mayListen?.() ?? settings.server.port, secure: tls !== undefined })
      // A connection that could not be accepted is no reason to end those that were.
      server.on('error', error => log.error({ error }, 'server failed to accept a connection'))
      begin()
      return address
    },

    reload: async next => {
      const reload = reloaded.then(async () => await applySettings(next))
      reloaded = reload.catch(() => undefined) // the caller of reload gets the error
      await reload
    },

    load: () => ({ openCalls: app.admission.openCalls, rowsWaiting: ledger?.waiting ?? 0, rowsDropped: ledger?.dropped ?? 0, bodiesDropped: bodyRecorder?.dropped ?? 0, degraded: degraded(), coordination: coordination?.load() }),

    close: async () => {
      draining = true
      if (server.listening) await sleep(settings.server.shutdownDelayMs) // else its start failed, and no caller is to be warned
      // Not yet `server.close()`: it destroys sockets whose last bytes are still on their way.
      const closed = stopAccepting(server)
      await withTimeout(settings.server.drainMs, waitUntilIdle())
      app.abortAll(new GatewayError('shutting_down'))
      for (const { abandonedAnswers: abandoned } of [services, ...outgoing]) abandoned.stop()
      await withTimeout(1000, app.whenIdle())
      closeServer()
      server.close()
      server.closeAllConnections()
      await closed
      await tasks?.stop()
      await backgroundRuns?.stop()
      clearInterval(expiring)
      await bodyRecorder?.close()
      await ledger?.close()
      await (await opened)?.reports.close()
      ownLimiter?.close()
      await services.close()
    }
  }
}
