/**
 * Runs the primary process of several workers that share its port: creates the first key, counts the limits
 * of all workers, and collects their metrics.
 */

import { openKeyStore } from '../keys/key-store.ts'
import type { AppliedConfiguration } from '../config/read-settings.ts'
import { SharedConfiguration } from '../config/shared-configuration.ts'
import { createLimiter } from '../limits/limiter.ts'
import { answerLimitMessages } from '../limits/worker-limiter.ts'
import { createLookupServices, type OwnedServices } from '../create-services.ts'
import { openDatabase } from '../stores/open-database.ts'
import type { Database } from '../stores/database.ts'
import { mergeFamilies } from '../telemetry/metric-families.ts'
import { createLog, flushed, type Log } from '../log/log.ts'
import { ProcessMetrics } from '../telemetry/process-metrics.ts'
import { SharedMetrics } from '../telemetry/shared-metrics.ts'
import type { MetricsSettings, Settings } from '../core/settings.ts'
import { urlOf } from '../http/listen.ts'
import { version } from '../text/version.ts'
import { announce } from './announce.ts'
import { CommandError, type ExitCode, type Terminal } from './terminal.ts'
import { createFirstKey } from './create-first-key.ts'
import { createFirstLink } from './create-first-link.ts'
import { noteRunning } from './running-gateway.ts'
import { startMetrics } from './start-metrics.ts'
import type { ServeOptions } from './serve.ts'
import { startWorkers } from './start-workers.ts'

/** Runs the workers until a signal ends them. */
export async function runPrimary ({ started, log }: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const database = await openDatabase(started.settings)
  try {
    await runWorkersWith(database, started, log, terminal)
  } finally {
    await database.close()
  }
  log.info('stopped')
  await flushed(log)
  return 0
}

async function runWorkersWith (
  database: Database,
  started: AppliedConfiguration,
  log: Log,
  terminal: Terminal
): Promise<void> {
  const { settings } = started
  const key = await makeFirstKey(database, settings, terminal)
  const linkToken = await createFirstLink(database, settings, terminal)
  // What follows is done for calls of all workers: none of them must wait while another program has locked
  // the store.
  database.stopWaiting()
  const limiter = createLimiter(database, log)
  const configuration = new SharedConfiguration(started)
  const metrics = settings.metrics === undefined ? undefined : await openSharedMetrics(settings.metrics, log)
  let forget = (): void => undefined
  try {
    await new Promise<void>((resolve, reject) => {
      startWorkers(settings.server, log, {
        onFork: worker => {
          configuration.join(worker, other => {
            log.error(
              { pid: worker.process.pid, version, worker_version: other },
              'another version was installed; restart the gateway to run it'
            )
            worker.process.kill('SIGKILL')
          })
          answerLimitMessages(worker, limiter, String(worker.id))
          metrics?.shared.join(worker)
        },
        onReady: address => {
          forget = noteRunning(settings.server.dataDir, urlOf(address), log)
          modelsOf(settings)
            .then(models => announce({ address, settings, models, key, linkToken }, log, terminal))
            .catch(reject)
        },
        onFailure: reason => reject(new CommandError(reason)),
        onEnd: resolve
      })
    })
  } finally {
    forget()
    await metrics?.close()
    limiter.close()
  }
}

/** Serves the metrics of all workers and of this process. */
async function openSharedMetrics (
  at: MetricsSettings, log: Log
): Promise<{ readonly shared: SharedMetrics, readonly close: () => Promise<void> }> {
  const shared = new SharedMetrics()
  const own = new ProcessMetrics()
  const close = await startMetrics(
    at,
    async () => mergeFamilies([await shared.families(), own.families()]),
    log
  )
  return { shared, close }
}

async function makeFirstKey (
  database: Database,
  settings: Settings,
  terminal: Terminal
): Promise<string | undefined> {
  const keys = await openKeyStore(database, settings.keys)
  keys.close()
  return await createFirstKey(keys, terminal)
}

/** Lists models for the example in the banner; the workers have their own lists. */
async function modelsOf (settings: Settings): Promise<OwnedServices['models']> {
  const services = createLookupServices(settings, { log: createLog('silent'), discoverModels: false })
  await services.close()
  return services.models
}
