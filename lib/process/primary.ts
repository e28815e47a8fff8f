/**
 * Runs the primary process of several workers, which share its port: creates the first key, restarts
 * workers that exit, and forwards signals.
 */

import cluster, { type Worker } from 'node:cluster'
import { openKeyStore } from '../keys/key-store.ts'
import { createLimiter } from '../limits/limiter.ts'
import { serveLimits } from '../limits/shared-limiter.ts'
import { createServices } from '../create-services.ts'
import { openDatabase, type Database } from '../stores/database.ts'
import { mergeFamilies } from '../telemetry/metric-families.ts'
import { createLog, flushed, type Log } from '../telemetry/log.ts'
import { ProcessMetrics } from '../telemetry/process-metrics.ts'
import { SharedMetrics } from '../telemetry/shared-metrics.ts'
import type { Address } from '../http/listen.ts'
import type { MetricsSettings, Settings } from '../core/settings.ts'
import { announce } from './announce.ts'
import { CommandError, type ExitCode, type Terminal } from './terminal.ts'
import { firstKey } from './first-key.ts'
import { startMetrics } from './start-metrics.ts'
import type { ServeOptions } from './serve.ts'
import { stopMessage } from './worker.ts'

/** Workers that exit sooner than this are restarted after a wait that doubles each time, up to the maximum. */
const minHealthyUptimeMs = 10_000
const initialRestartMs = 100
const maxRestartMs = 30_000

/** Runs the workers until a signal ends them. */
export async function runPrimary ({ settings, log }: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const database = await openDatabase(settings.server.dataDir)
  try {
    await runWorkersWith(database, settings, log, terminal)
  } finally {
    await database.close()
  }
  await flushed(log)
  return 0
}

async function runWorkersWith (database: Database, settings: Settings, log: Log, terminal: Terminal): Promise<void> {
  const key = await makeFirstKey(database, settings)
  const limiter = createLimiter(database, log)
  const metrics = settings.metrics === undefined ? undefined : await openSharedMetrics(settings.metrics, log)
  try {
    await new Promise<void>((resolve, reject) => {
      startWorkers(settings.server.workers, log, {
        onFork: worker => {
          serveLimits(worker, limiter, String(worker.id))
          metrics?.shared.join(worker)
        },
        onReady: address => {
          modelsOf(settings).then(models => announce({ address, settings, models, key }, log, terminal)).catch(reject)
        },
        onFailure: reason => reject(new CommandError(reason)),
        onEnd: resolve
      })
    })
  } finally {
    await metrics?.close()
  }
}

/** Serves the metrics of all workers and of this process. */
async function openSharedMetrics (
  at: MetricsSettings, log: Log
): Promise<{ readonly shared: SharedMetrics, readonly close: () => Promise<void> }> {
  const shared = new SharedMetrics()
  const own = new ProcessMetrics()
  const close = await startMetrics(at, async () => mergeFamilies([await shared.families(), own.families()]), log)
  return { shared, close }
}

async function makeFirstKey (database: Database, settings: Settings): Promise<string | undefined> {
  const keys = await openKeyStore(database, settings.keys)
  keys.close()
  return await firstKey(keys)
}

/** Lists models for the example of the banner; the workers have lists of their own. */
async function modelsOf (settings: Settings): Promise<ReturnType<typeof createServices>['models']> {
  const providers = settings.providers.map(provider => ({ ...provider, listModels: false }))
  const services = createServices({ ...settings, providers }, {
    keys: { check: () => undefined }, log: createLog('silent'), ready: () => false
  })
  await services.close()
  return services.models
}

interface WorkerEvents {
  /** Called for each new worker. */
  readonly onFork: (worker: Worker) => void
  /** Called with the address once all workers listen. */
  readonly onReady: (address: Address) => void
  /** Called when the first workers cannot start; all have been ended. */
  readonly onFailure: (reason: string) => void
  /** Called when all have ended after a signal. */
  readonly onEnd: () => void
}

function startWorkers (count: number, log: Log, { onFork, onReady, onFailure, onEnd }: WorkerEvents): void {
  const serving = new Set<Worker>()
  let complete = false
  let stopping = false
  let waitMs = initialRestartMs

  const abort = (reason: string): void => {
    stopping = true
    for (const worker of workers()) worker.process.kill('SIGKILL')
    onFailure(reason)
  }
  const fork = (): void => {
    const startedMs = performance.now()
    const worker = cluster.fork()
    onFork(worker)
    worker.on('message', (message: unknown) => {
      const failure = failureIn(message)
      if (failure === undefined) return
      if (!complete) abort(failure)
      else log.error({ pid: worker.process.pid, failure }, 'worker failed to start')
    })
    worker.once('listening', ({ address, port }: { address: string | null, port: number }) => {
      serving.add(worker)
      if (complete || serving.size < count) return
      complete = true
      onReady({ host: address ?? '::', port })
    })
    worker.once('exit', (code, signal) => {
      serving.delete(worker)
      if (stopping) {
        if (workers().length === 0) onEnd()
        return
      }
      if (!complete) {
        abort(`a worker exited while starting (${signal ?? `exit code ${code}`})`)
        return
      }
      waitMs = performance.now() - startedMs > minHealthyUptimeMs ? initialRestartMs : Math.min(waitMs * 2, maxRestartMs)
      log.error({ pid: worker.process.pid, code, signal, restart_ms: waitMs }, 'worker exited; restarting')
      setTimeout(() => { if (!stopping) fork() }, waitMs)
    })
  }

  const onStop = (): void => {
    if (stopping) {
      for (const worker of workers()) worker.process.kill('SIGKILL')
      process.exit(1)
    }
    stopping = true
    log.info('draining open calls; signal again to exit immediately')
    for (const worker of workers()) {
      // A worker that is still starting has nothing to drain and does not listen yet.
      if (serving.has(worker)) worker.send(stopMessage)
      else worker.process.kill('SIGKILL')
    }
    if (workers().length === 0) onEnd()
  }
  process.on('SIGTERM', onStop)
  process.on('SIGINT', onStop)
  process.on('SIGHUP', () => { for (const worker of serving) worker.process.kill('SIGHUP') })
  for (let number = 0; number < count; number++) fork()
}

/** Returns the workers that have not exited. */
function workers (): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
}

function failureIn (message: unknown): string | undefined {
  return typeof message === 'object' && message !== null && 'failure' in message
    ? String(message.failure)
    : undefined
}
