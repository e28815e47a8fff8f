import { urlOf } from '../http/listen.ts'
import { serveMetrics, type MetricsServer } from './metrics-server.ts'
import type { MetricsSettings } from '../core/settings.ts'
import type { Family } from '../telemetry/metric-families.ts'
import type { Log } from '../log/log.ts'
import { listenError } from './listen-error.ts'

/**
 * Starts the metrics server and logs its address.
 *
 * @returns a function that stops it
 * @throws CommandError if the address cannot be used
 */
export async function startMetrics (
  at: MetricsSettings, families: () => Family[] | Promise<Family[]>, log: Log
): Promise<() => Promise<void>> {
  let server: MetricsServer
  try {
    server = await serveMetrics(at, families, log)
  } catch (cause) {
    throw listenError(cause, at, 'Choose another for metrics.port and metrics.host in the configuration.')
  }
  log.info({ url: `${urlOf(server.address)}/metrics` }, 'metrics server listening')
  return server.close
}
