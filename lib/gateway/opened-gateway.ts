/** The life of an assembled gateway: starting, listening, reloading and stopping. */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '../async/with-timeout.ts'
import { GatewayError } from '../core/errors.ts'
import { listen, type Address } from '../http/listen.ts'
import { stopAccepting } from '../http/node-internals.ts'
import { sweepUploads } from '../http/upload-directory.ts'
import { loggableError } from '../text/describe-error.ts'
import { warmUp } from '../validation/compile-check.ts'
import type { App, Middleware } from '../http/app.ts'
import type { HttpServer } from '../http/create-server.ts'
import type { CooldownExchange } from '../coordination/cooldown-exchange.ts'
import type { Settings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { Services } from '../services.ts'
import type { Database } from '../stores/database.ts'
import type { CallTracer } from '../telemetry/call-tracer.ts'
import type { CoordinationLoad, Load } from '../telemetry/metrics.ts'
import type { CallHistory } from './call-history.ts'
import type { DeferredWork } from './deferred-work.ts'
import type { LiveServices } from './live-services.ts'

/** How far a stop has come. */
export interface StopState {
  /** True once `/readyz` says that the gateway stops. */
  isDraining: boolean
  /**
   * True once no connection is accepted: answers say that theirs ends. Before that, a load balancer would
   * only open another one for each call.
   */
  isClosed: boolean
}

/** Carries what gateways on several machines share. */
interface SharedState {
  readonly load: () => CoordinationLoad
  readonly cooldowns: Pick<CooldownExchange, 'listen'>
  readonly onTasks: (listener: () => void) => void
}

export interface OpenedGatewayOptions {
  readonly settings: Settings
  readonly log: Log
  readonly app: App
  readonly server: HttpServer
  readonly live: LiveServices
  readonly history: CallHistory
  readonly stop: StopState
  readonly degraded: () => readonly string[]
  readonly openWork: Load['openWork']
  readonly work: DeferredWork | undefined
  readonly tracer: CallTracer | undefined
  readonly database: Database | undefined
  readonly coordination: SharedState | undefined
  /** Closes what was opened for this gateway and is needed until the last call is recorded. */
  readonly closeLast: () => Promise<void>
}

/** The first calls of a busy gateway come at once, and compile what they need themselves. */
const warmUpAfterMs = 200

/** Milliseconds within which a connection that was accepted just before a stop sends its request. */
const firstRequestMs = 100

/**
 * Milliseconds between two looks for stored responses and bodies of calls that have expired: they are hidden
 * in any case.
 */
const expireEveryMs = 60_000

/**
 * Milliseconds between two looks for alerts and exports. What does not work in two of them is worth an alert.
 */
const lookEveryMs = 10_000

/** A gateway whose functions may be taken from it and called alone. */
export class OpenedGateway {
  readonly #options: OpenedGatewayOptions
  readonly #timers: readonly NodeJS.Timeout[]

  constructor (options: OpenedGatewayOptions) {
    this.#options = options
    this.#timers = [
      setInterval(() => this.#expire(), expireEveryMs).unref(),
      setInterval(() => this.#look(), lookEveryMs).unref()
    ]
  }

  get services (): Services {
    return this.#options.live.current
  }

  readonly start = async (): Promise<void> => {
    await this.#prepare()
    this.#begin()
  }

  readonly middleware = (): Middleware => this.#options.app.middleware

  readonly listen = async (mayListen?: () => Promise<number | undefined>): Promise<Address> => {
    const { log, server: { server }, settings: { server: { host, port, tls } } } = this.#options
    await this.#prepare()
    const address = await listen(server, {
      host,
      port: (await mayListen?.()) ?? port,
      secure: tls !== undefined
    })
    // A connection that could not be accepted is no reason to end those that were.
    server.on('error', error =>
      log.error({ cause: loggableError(error) }, 'server failed to accept a connection')
    )
    this.#begin()
    return address
  }

  readonly reload = async (settings: Settings): Promise<void> => {
    await this.#options.live.replace(settings)
  }

  #look (): void {
    const { alerts, usageExports } = this.services
    alerts?.look()
    usageExports?.look()
  }

  readonly load = (): Load => {
    const { app, history, tracer, database, degraded, openWork, coordination } = this.#options
    return {
      openCalls: app.admission.openCalls,
      ...history.load,
      ...tracer !== undefined && { spansDropped: tracer.dropped },
      queries: database?.queries?.(),
      degraded: degraded(),
      openWork,
      usageExports: this.services.usageExports?.counts,
      coordination: coordination?.load()
    }
  }

  readonly close = async (): Promise<void> => {
    const { settings, app, server: { server, close: closeServer }, live, stop } = this.#options
    stop.isDraining = true
    live.freeze()
    // A start that failed has no caller to warn.
    const delayMs = server.listening ? settings.server.shutdownDelayMs : 0
    if (delayMs > 0) {
      await sleep(delayMs)
      // Right after connections were accepted: the system resets those that still wait for it.
      await nextTurn()
    }
    // Not yet `server.close()`: it destroys sockets whose last bytes are still on their way.
    const closed = stopAccepting(server)
    stop.isClosed = true
    await withTimeout(settings.server.drainMs, this.#waitUntilIdle(Math.min(delayMs, firstRequestMs)))
    // First: a call that is aborted would be mirrored.
    await live.stopMirrors()
    app.abortAll(new GatewayError('shutting_down'))
    live.stopAbandoned()
    await withTimeout(1000, app.whenIdle())
    closeServer()
    server.close()
    server.closeAllConnections()
    await closed
    await this.#closeAll()
  }

  async #closeAll (): Promise<void> {
    const { work, history, tracer, live, closeLast } = this.#options
    await work?.stop()
    for (const timer of this.#timers) clearInterval(timer)
    await history.close()
    await tracer?.close()
    await closeLast()
    await live.close()
  }

  async #prepare (): Promise<void> {
    const { live, history, log } = this.#options
    const listed = live.whenListed()
    await sweepUploads().catch((error: unknown) => {
      log.warn({ cause: loggableError(error) }, 'failed to delete uploads of an earlier process')
    })
    history.importJournals()
    history.sumUp()
    await listed
  }

  #begin (): void {
    const { work, coordination, live, log } = this.#options
    work?.start()
    coordination?.onTasks(() => work?.look())
    coordination?.cooldowns.listen({
      digestOf: id => live.digestOf(id),
      learn: (cooldown, origin) => this.services.routeHealth.learn(cooldown, origin)
    })
    setTimeout(() => {
      warmUp()
      this.services.toolServers
        .warmUp()
        .catch((error: unknown) =>
          log.error({ cause: loggableError(error) }, 'failed to load the client of tool servers')
        )
    }, warmUpAfterMs).unref()
  }

  /**
   * Waits until no call is open, and none has come for a while: those that come over open connections
   * meanwhile are waited for as well.
   */
  async #waitUntilIdle (quietMs: number): Promise<void> {
    const { app } = this.#options
    do {
      while (app.openCalls() > 0) await app.whenIdle()
      await sleep(quietMs)
    } while (app.openCalls() > 0)
  }

  /** Deletes responses and bodies of calls whose time is over. */
  #expire (): void {
    const { history, work, log } = this.#options
    const failed = (what: string) => (error: unknown) =>
      log.error({ error: String(error) }, `failed to delete expired ${what}`)
    work?.responseStore.expire(Date.now()).catch(failed('responses'))
    history.expire(Date.now()).catch(failed('bodies of calls'))
  }
}
