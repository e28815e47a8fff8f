/** One process that answers calls: store, keys, gateway and the watch on the configuration. */

import { isDeepStrictEqual } from 'node:util'
import { formatProblems, formatWarnings, type Problem } from '../config/problems.ts'
import { watchSettings, type SettingsWatch } from '../config/watch-settings.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import { openKeyStore, type KeyStore } from '../keys/key-store.ts'
import { openDatabase } from '../stores/database.ts'
import { loggableError } from '../text/describe-error.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Address } from '../http/listen.ts'
import type { ConfigSources } from '../config/read-settings.ts'
import type { ServerSettings, Settings } from '../core/settings.ts'
import type { Family } from '../telemetry/metric-families.ts'
import type { Log } from '../telemetry/log.ts'
import { listenError } from './listen-error.ts'
import { startMetrics } from './start-metrics.ts'

export interface ServeOptions {
  /** Who counts what limited keys use. Default: this process. */
  readonly limiter?: Limiter
  /** Passes metrics on to whoever is asked for them. Default: this process is, at `settings.metrics`. */
  readonly tellMetrics?: (families: () => Family[]) => void
  /** Where the settings come from, to see them change. */
  readonly sources: ConfigSources
  readonly settings: Settings
  readonly log: Log
  /** Makes the first key, before the first call can come. */
  readonly prepare?: (keys: KeyStore) => Promise<string | undefined>
}

export interface Serving {
  readonly gateway: Gateway
  readonly address: Address
  /** What `prepare` gave. */
  readonly key: string | undefined
  /** Drains and lets go of everything. */
  readonly close: () => Promise<void>
}

/**
 * Opens everything and listens.
 *
 * @throws StoreError, or CommandError when the address cannot be used; nothing is left open
 */
export async function serve ({ sources, settings, log, prepare, limiter, tellMetrics }: ServeOptions): Promise<Serving> {
  const closing: Array<() => Promise<void> | void> = []
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).toReversed()) await end()
  }
  try {
    const database = await openDatabase(settings.server.dataDir)
    closing.push(database.close)
    const keys = await openKeyStore(database, settings.keys, {
      onFailure: error => log.warn({ cause: loggableError(error) }, 'the store cannot be read; the keys known so far stay good')
    })
    closing.push(keys.close)
    const key = await prepare?.(keys)
    const books = await openDatabase(settings.server.dataDir, { busyTimeoutMs: 0 })
    closing.push(books.close)
    const metrics = settings.metrics === undefined ? undefined : new Metrics(() => gateway)
    const gateway: Gateway = await createGateway(settings, {
      keys,
      log,
      database,
      books,
      degraded: () => keys.isStale() ? ['keys'] : [],
      observers: metrics === undefined ? [] : [metrics.observe],
      ...(limiter === undefined ? {} : { limiter })
    })
    closing.push(gateway.close)
    if (metrics !== undefined && settings.metrics !== undefined) {
      const families = (): Family[] => metrics.families()
      // Last of all: until then it can be seen how the gateway drains.
      if (tellMetrics === undefined) closing.unshift(await startMetrics(settings.metrics, families, log))
      else tellMetrics(families)
    }
    const address = await listen(gateway, settings.server)
    const watch = watchForChanges(sources, { gateway, keys, log, settings })
    closing.push(() => watch?.close())
    surviveFaults(log)
    return { gateway, address, key, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function listen (gateway: Gateway, at: ServerSettings): Promise<Address> {
  try {
    return await gateway.listen()
  } catch (cause) {
    throw listenError(cause, at, 'Choose another with PORT and HOST, or server.port and server.host in the configuration.')
  }
}

interface Changeable {
  readonly gateway: Gateway
  readonly keys: KeyStore
  readonly log: Log
  /** As the process was started with. */
  readonly settings: Settings
}

/** A gateway that cannot watch is better than none. */
function watchForChanges (sources: ConfigSources, { gateway, keys, log, settings: started }: Changeable): SettingsWatch | undefined {
  const takeOver = async (settings: Settings): Promise<void> => {
    keys.replaceConfigured(settings.keys) // first: who was taken out is out at once
    await gateway.reload(settings)
    log.level = settings.server.logLevel
    log.info('the new configuration holds from now on')
    const entries = fixedChanges(started, settings)
    if (entries.length > 0) log.warn({ entries }, 'these changes hold from the next start on')
  }
  try {
    return watchSettings(sources, (settings, warnings) => {
      logWarnings(warnings, log)
      takeOver(settings).catch((error: unknown) => {
        log.error({ cause: loggableError(error) }, 'the new configuration could not be taken over; the last one holds')
      })
    }, error => log.error({ problems: formatProblems(error).split('\n') }, 'the configuration is not good; the last one holds'))
  } catch (error) {
    log.warn({ cause: loggableError(error) }, 'changes of the configuration are not noticed')
    return undefined
  }
}

export function logWarnings (warnings: readonly Problem[], log: Log): void {
  if (warnings.length > 0) log.warn({ warnings: formatWarnings(warnings) }, 'the configuration may not be what was meant')
}

/** Settings of the process that a running one cannot change, by their entries in the file. */
const fixed = {
  host: 'server.host',
  port: 'server.port',
  workers: 'server.workers',
  dataDir: 'server.data_dir',
  drainMs: 'server.drain_ms',
  keepAliveMs: 'server.keep_alive_ms'
} as const satisfies Record<Exclude<keyof ServerSettings, 'openHealth' | 'logLevel'>, string>

function fixedChanges (running: Settings, wanted: Settings): string[] {
  const changed = Object.entries(fixed).filter(([name]) => (
    Reflect.get(running.server, name) !== Reflect.get(wanted.server, name)
  )).map(([, entry]) => entry)
  return isDeepStrictEqual(running.metrics, wanted.metrics) ? changed : [...changed, 'metrics']
}

/** From here on no input may end the process: what nobody caught is logged, and calls go on. */
function surviveFaults (log: Log): void {
  const note = (error: unknown): void => log.error({ cause: loggableError(error) }, 'a fault that nobody caught')
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
}
