/** The life cycle of an assembled gateway: starting, listening, reloading and stopping. */

import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { withTimeout } from '../async/with-timeout.ts'
import { keepRestartOnly } from '../config/changed-entries.ts'
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
import type { CallRecorder } from './call-recorder.ts'
import type { DeferredWork } from './deferred-work.ts'
import type { LiveServices } from './live-services.ts'

/** The progress of shutdown. */
export interface StopState {
  /** True once `/readyz` reports the shutdown. */
  isDraining: boolean
  /**
   * True once no connections are accepted, so responses close theirs. Earlier, a load balancer would just
   * open a new connection for each call.
   */
  isClosed: boolean
}

/** State shared by gateways on several machines. */
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
  readonly recorder: CallRecorder
  readonly stop: StopState
  readonly degraded: () => readonly string[]
  readonly openWork: Load['openWork']
  readonly work: DeferredWork | undefined
  readonly tracer: CallTracer | undefined
  readonly database: Database | undefined
  readonly coordination: SharedState | undefined
  /** Closes what must stay open until the last call is recorded. */
  readonly closeLast: () => Promise<void>
}

/** The first calls of a busy gateway arrive before this and warm it up themselves. */
const warmUpAfterMs = 200

/** Milliseconds that a connection accepted just before shutdown has to send its request. */
const firstRequestMs = 100

/** Milliseconds between two deletions of expired responses and call bodies, which are hidden anyway. */
const expireEveryMs = 60_000

/** Milliseconds between two checks for alerts and exports. A failure in two checks raises an alert. */
const pollEveryMs = 10_000

/** An open gateway. Its methods are bound, so they can be passed on individually. */
export class OpenedGateway {
  readonly #options: OpenedGatewayOptions
  readonly #timers: readonly NodeJS.Timeout[]

  constructor (options: OpenedGatewayOptions) {
    this.#options = options
    this.#timers = [
      setInterval(() => this.#expire(), expireEveryMs).unref(),
      setInterval(() => this.#poll(), pollEveryMs).unref()
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
    // A connection that could not be accepted must not end the others.
    server.on('error', error =>
      log.error({ cause: loggableError(error) }, 'server failed to accept a connection')
    )
    this.#begin()
    return address
  }

  readonly reload = async (wanted: Settings): Promise<void> => {
    const { live, app, server: { server }, work } = this.#options
    const settings = keepRestartOnly(this.#options.settings, wanted)
    await live.replace(settings, {
      onReplaced: () => {
        app.apply({ endpoints: live.endpoints, bounds: settings.limits })
        server.headersTimeout = settings.limits.headersMs
      },
      whenIdle: async () => {
        await app.whenIdle()
        await work?.whenIdle() // not earlier: a call that is open now may start a response in the background
      }
    })
  }

  #poll (): void {
    const { alerts, usageExports } = this.services
    alerts?.poll()
    usageExports?.poll()
  }

  readonly load = (): Load => {
    const { app, recorder, tracer, database, degraded, openWork, coordination } = this.#options
    return {
      openCalls: app.admission.openCalls,
      ...recorder.load,
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
    // If the start failed, there are no callers to warn.
    const delayMs = server.listening ? settings.server.shutdownDelayMs : 0
    if (delayMs > 0) {
      await sleep(delayMs)
      // Wait until new connections are accepted, because the system resets pending ones.
      await immediate()
    }
    // Not `server.close()`, which destroys sockets with unsent bytes.
    const closed = stopAccepting(server)
    stop.isClosed = true
    await withTimeout(settings.server.drainMs, this.#waitUntilIdle(Math.min(delayMs, firstRequestMs)))
    // Stop mirrors first: aborted calls would be mirrored.
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
    const { work, recorder, tracer, live, closeLast } = this.#options
    await work?.stop()
    for (const timer of this.#timers) clearInterval(timer)
    await recorder.close()
    await tracer?.close()
    await closeLast()
    await live.close()
  }

  async #prepare (): Promise<void> {
    const { live, recorder, log } = this.#options
    const listed = live.whenListed()
    await sweepUploads().catch((error: unknown) => {
      log.warn({ cause: loggableError(error) }, 'failed to delete uploads of an earlier process')
    })
    recorder.importJournals()
    recorder.ledger?.backfillRollups()
    await listed
  }

  #begin (): void {
    const { work, coordination, live, log } = this.#options
    work?.start()
    coordination?.onTasks(() => work?.poll())
    coordination?.cooldowns.listen({
      digestOf: id => live.digestOf(id),
      learn: (cooldown, origin) => this.services.routingState.learn(cooldown, origin)
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

  /** Waits until no call is open and none has arrived for a while, including calls over open connections. */
  async #waitUntilIdle (quietMs: number): Promise<void> {
    const { app } = this.#options
    do {
      while (app.openRequests() > 0) await app.whenIdle()
      await sleep(quietMs)
    } while (app.openRequests() > 0)
  }

  /** Deletes expired responses and call bodies. */
  #expire (): void {
    const { recorder, work, log } = this.#options
    const failed = (what: string) => (error: unknown) =>
      log.error({ cause: loggableError(error) }, `failed to delete expired ${what}`)
    work?.responseStore.expire(Date.now()).catch(failed('responses'))
    recorder.expire(Date.now()).catch(failed('bodies of calls'))
  }
}
