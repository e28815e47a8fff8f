/** Runs one process that answers calls: store, keys, gateway, and the watcher of the configuration. */

import { keepRestartOnly } from '../config/changed-entries.ts'
import { LiveConfiguration } from '../config/live-configuration.ts'
import { formatProblems, formatWarnings, type Problem } from '../config/problems.ts'
import { watchSettings, type SettingsWatch } from '../config/watch-settings.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import { openLogsExport, openMetricsExport } from '../gateway/open-telemetry.ts'
import { openKeyStore, type KeyStore } from '../keys/key-store.ts'
import type { Database } from '../stores/database.ts'
import { openDatabase } from '../stores/open-database.ts'
import { loggableError } from '../text/describe-error.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Address } from '../http/listen.ts'
import type { AppliedConfiguration, ConfigSources } from '../config/read-settings.ts'
import type { ServerSettings, Settings } from '../core/settings.ts'
import type { Family } from '../telemetry/metric-families.ts'
import { copyLines, type Log } from '../log/log.ts'
import type { OtlpLogs } from '../telemetry/otlp-logs.ts'
import type { OtlpMetrics } from '../telemetry/otlp-metrics.ts'
import { listenError } from './listen-error.ts'
import type { Coordination, CoordinationDeps } from './open-coordination.ts'
import { databasePath, isEmptyFile } from '../stores/sqlite/database-file.ts'
import { openFiles } from '../http/open-files.ts'
import { startMetrics } from './start-metrics.ts'

export interface ServeOptions {
  /** Counts the usage of limited keys, unless machines count together. Default: this process. */
  readonly limiter?: Limiter
  /**
   * Passes metrics to the process that serves them. Default: this process serves them, at `settings.metrics`.
   */
  readonly publishMetrics?: (families: () => Family[]) => void
  /**
   * Resolves when this process may listen, to the port to use instead of the configured one. Default:
   * immediately.
   */
  readonly waitToListen?: () => Promise<number | undefined>
  /** The sources of the settings, watched for changes. */
  readonly sources: ConfigSources
  /** The configuration that the gateway was started with. */
  readonly started: AppliedConfiguration
  /** The configuration that the other processes have adopted since. Default: none */
  readonly current?: AppliedConfiguration
  /** Called with each configuration that this process adopts. */
  readonly onReload?: (next: AppliedConfiguration) => void
  readonly log: Log
  /** Creates the first key, before the first call can arrive. */
  readonly prepare?: (keys: KeyStore) => Promise<string | undefined>
  /** Creates the first link to the dashboard. */
  readonly prepareLink?: (database: Database) => Promise<string | undefined>
}

/** Functions that close what was opened, called in reverse order. */
type Closing = Array<() => Promise<void> | void>

export interface Serving {
  readonly gateway: Gateway
  readonly address: Address
  /** The result of `prepare`. */
  readonly key: string | undefined
  /** The result of `prepareLink`. */
  readonly linkToken: string | undefined
  /** Waits for open calls, then releases everything. */
  readonly close: () => Promise<void>
}

/**
 * Opens everything and listens.
 *
 * @throws StoreError, or CommandError if the address cannot be used; nothing is left open
 */
export async function serve (options: ServeOptions): Promise<Serving> {
  const closing: Closing = []
  const close = async (): Promise<void> => {
    for (const end of closing.splice(0).toReversed()) await end()
  }
  try {
    return { ...await openServing(options, closing), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openServing (
  { sources, started, current = started, log, limiter, ...options }: ServeOptions,
  closing: Closing
): Promise<Omit<Serving, 'close'>> {
  const settings = keepRestartOnly(started.settings, current.settings)
  const { database, usageDatabase, coordination, keys } = await openStores(settings, closing, {
    log,
    without: () => gateway.services.settings.limits.withoutCoordination
  })
  const key = await options.prepare?.(keys)
  const linkToken = await options.prepareLink?.(database)
  const exports: Exports = { logs: await exportLogs(settings, log, closing) }
  const metrics = createMetrics(settings, () => gateway, exports)
  const configuration = new LiveConfiguration(sources, started, current)
  const gateway: Gateway = await createGateway(settings, {
    configuration,
    keys,
    keyStore: keys,
    log,
    database,
    usageDatabase,
    degraded: () => [
      ...(configuration.isInvalid ? ['configuration'] : []),
      ...(keys.isStale() ? ['keys'] : []),
      ...(coordination?.load().isUnreachable === true ? ['coordination'] : [])
    ],
    observers: metrics === undefined ? [] : [metrics.observe],
    ...(coordination === undefined
      ? limiter !== undefined && { limiter }
      : { limiter: coordination.limiter, coordination })
  })
  closing.push(gateway.close)
  if (metrics !== undefined) {
    await serveFamilies(settings, () => metrics.families(), { log, closing, ...options })
    exports.metrics = await exportFamilies(settings, () => metrics.families(), log, closing)
  }
  const address = await listen(gateway, settings.server, options.waitToListen)
  const watch = watchForChanges({
    sources, current, gateway, keys, configuration, metrics, onReload: options.onReload, log
  })
  closing.push(() => watch?.close())
  logUncaught(log)
  return { gateway, address, key, linkToken }
}

interface Stores {
  readonly database: Database
  readonly usageDatabase: Database
  readonly coordination: Coordination | undefined
  readonly keys: KeyStore
}

/** Opens the database, usage, coordination, and keys; each is closed with the rest. */
async function openStores (
  settings: Settings,
  closing: Closing,
  { log, without }: Pick<CoordinationDeps, 'log' | 'without'>
): Promise<Stores> {
  const database = await openDatabase(settings)
  closing.push(database.close)
  const usageDatabase = await openDatabase(settings, { busyTimeoutMs: 0, maxConnections: 2 })
  closing.push(usageDatabase.close)
  const coordination = await coordinationOf(settings, { usageDatabase, log, without })
  if (coordination !== undefined) closing.push(coordination.close)
  const keys = await openKeys(database, settings, coordination, log)
  closing.push(keys.close)
  return { database, usageDatabase, coordination, keys }
}

/** Opens what several machines share. Loaded only if configured, since most gateways run alone. */
async function coordinationOf (
  settings: Settings,
  parts: CoordinationDeps
): Promise<Coordination | undefined> {
  if (settings.coordination.url === undefined) return undefined
  const { openCoordination } = await import('./open-coordination.ts')
  return await openCoordination(settings, parts)
}

async function listen (
  gateway: Gateway,
  at: ServerSettings,
  waitToListen: ServeOptions['waitToListen']
): Promise<Address> {
  try {
    return await gateway.listen(waitToListen)
  } catch (cause) {
    throw listenError(
      cause,
      at,
      'Choose another with PORT and HOST, or server.port and server.host in the configuration.'
    )
  }
}

/** Opens the store of keys, and exchanges notices of their changes with other machines. */
async function openKeys (
  database: Database,
  { keys: configured, store }: Settings,
  coordination: Coordination | undefined,
  log: Log
): Promise<KeyStore> {
  const keys = await openKeyStore(database, configured, {
    staleMs: store.keysStaleMs,
    ...coordination !== undefined && { onChange: coordination.notifyOfKeys },
    onFailure: error =>
      log.warn({ cause: loggableError(error) }, 'store unreadable; continuing with the keys already loaded')
  })
  coordination?.onKeyChange(keys.poll)
  return keys
}

/** What is sent to a collector; each member is set once it is open. */
interface Exports {
  logs?: OtlpLogs | undefined
  metrics?: OtlpMetrics | undefined
}

/** Copies the log to a collector, if configured, until everything else is closed. */
async function exportLogs (
  { telemetry: { otlp } }: Settings,
  log: Log,
  closing: Closing
): Promise<OtlpLogs | undefined> {
  if (otlp?.logs !== true) return undefined
  const logs = await openLogsExport(otlp, log)
  copyLines(log, logs.write)
  closing.unshift(async () => {
    copyLines(log, undefined)
    await logs.close()
  })
  return logs
}

/** Counts calls if metrics are served or sent. */
function createMetrics (
  settings: Settings,
  gateway: () => Gateway,
  exports: Readonly<Exports>
): Metrics | undefined {
  if (settings.metrics === undefined && settings.telemetry.otlp?.metrics !== true) return undefined
  return new Metrics(
    gateway,
    () => ({ logsDropped: exports.logs?.dropped(), metricsFailed: exports.metrics?.failed() })
  )
}

interface ServeFamiliesOptions extends Pick<ServeOptions, 'publishMetrics' | 'log'> {
  readonly closing: Closing
}

/** Serves metrics at their address, or passes them to the process that does. */
async function serveFamilies (
  { metrics }: Settings,
  families: () => Family[],
  { publishMetrics, log, closing }: ServeFamiliesOptions
): Promise<void> {
  if (metrics === undefined) return
  // Closed last, so that the drain can be observed.
  if (publishMetrics === undefined) closing.unshift(await startMetrics(metrics, families, log))
  else publishMetrics(families)
}

/** Sends metrics to a collector, where one is configured. */
async function exportFamilies (
  { telemetry: { otlp } }: Settings,
  families: () => Family[],
  log: Log,
  closing: Closing
): Promise<OtlpMetrics | undefined> {
  if (otlp?.metrics !== true) return undefined
  const exported = await openMetricsExport(otlp, families, log)
  // After the calls that a stop waits for.
  closing.unshift(exported.close)
  return exported
}

interface Watching extends Required<Pick<ServeOptions, 'sources' | 'current' | 'log'>> {
  readonly gateway: Gateway
  readonly keys: KeyStore
  readonly configuration: LiveConfiguration
  readonly metrics: Metrics | undefined
  readonly onReload: ServeOptions['onReload'] | undefined
}

/** Watches the configuration; without it the gateway still runs. */
function watchForChanges (watching: Watching): SettingsWatch | undefined {
  const { sources, current, configuration, metrics, log } = watching
  const onInvalid = (): void => {
    configuration.isInvalid = true
    metrics?.noteReload('failed')
  }
  try {
    const watch = watchSettings(
      sources,
      (_settings, warnings, { settings, hasFile, hasEntries, text }) => {
        logWarnings(warnings, log)
        reload({ settings, hasFile, hasEntries, text }, watching).catch((error: unknown) => {
          onInvalid()
          watch.forget() // the same settings may succeed later
          log.error(
            { cause: loggableError(error) },
            'failed to reload the configuration; keeping the current one'
          )
        })
      },
      error => {
        onInvalid()
        log.error(
          { problems: formatProblems(error).split('\n') },
          'invalid configuration; keeping the current one'
        )
      },
      current
    )
    return watch
  } catch (error) {
    log.warn({ cause: loggableError(error) }, 'cannot watch the configuration; changes need a restart')
    return undefined
  }
}

/** Applies a new configuration, except for settings that require a restart. */
async function reload (
  next: AppliedConfiguration,
  { gateway, keys, configuration, metrics, onReload, log }: Watching
): Promise<void> {
  keys.replaceConfigured(next.settings.keys) // first, so that removed keys are refused immediately
  try {
    await gateway.reload(next.settings)
  } finally {
    keys.replaceConfigured(gateway.services.settings.keys) // those in effect, also after a failure
  }
  log.level = next.settings.server.logLevel
  const { changed, needs_restart: entries } = configuration.reloaded(next)
  metrics?.noteReload('ok')
  onReload?.(next)
  log.info({ changed, pid: process.pid }, 'configuration reloaded')
  if (entries.length > 0) log.warn({ entries }, 'these settings require a restart')
}

/** Warns if the system allows too few open files for the callers that may connect. */
export function logLowFileLimit (server: ServerSettings, log: Log): void {
  const { limit, wanted, low, connections } = openFiles(server)
  if (low) {
    log.warn(
      { limit, wanted, connections },
      'open file limit is low: fewer client connections are accepted; raise the limit, or lower ' +
      'server.max_client_connections'
    )
  }
}

/** Warns if the file of the store exists and is empty, as after a full disk or a failed copy. */
export function logEmptyStore ({ server, store }: Settings, log: Log): void {
  const file = databasePath(server.dataDir)
  if (store.url === undefined && isEmptyFile(file)) {
    log.warn(
      { file },
      'the file of the store is empty: a new store is created in it; if it had data, stop the gateway and ' +
      'restore a backup'
    )
  }
}

export function logWarnings (warnings: readonly Problem[], log: Log): void {
  if (warnings.length > 0) log.warn({ warnings: formatWarnings(warnings) }, 'configuration warnings')
}

/** Logs uncaught exceptions and unhandled rejections; from here on no input can end the process. */
function logUncaught (log: Log): void {
  process.on('uncaughtException', error => log.error({ cause: loggableError(error) }, 'uncaught exception'))
  process.on('unhandledRejection', error =>
    log.error({ cause: loggableError(error) }, 'unhandled rejection')
  )
}
