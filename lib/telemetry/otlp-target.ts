/** The resource and target of exported spans, metrics and log records. */

import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource
} from '@opentelemetry/resources'
import type { HrTime } from '@opentelemetry/api'
import { hostname } from 'node:os'
import { withTimeout } from '../async/with-timeout.ts'
import { loggableError } from '../text/describe-error.ts'
import { version } from '../text/version.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { OtlpSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'

/** Milliseconds that shutdown waits for the collector. */
const flushMs = 2000

/** Describes this process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence. */
export function serviceResource (): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({
      'service.name': 'headgate',
      'service.version': version,
      'service.instance.id': `${hostname()}:${process.pid}`
    }))
    .merge(detectResources({ detectors: [envDetector] }))
}

export function exporterOptions (
  { endpoint, headers }: OtlpSettings,
  signal: 'traces' | 'metrics' | 'logs'
): { readonly url: string, readonly headers: Record<string, string> } {
  return {
    url: `${withoutTrailingSlashes(endpoint)}/v1/${signal}`,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]))
  }
}

/** Returns a time as seconds and nanoseconds, as OpenTelemetry's packages expect it. */
export function hrTime (ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)]
}

/** Exports pending data for up to two seconds. */
export async function flushAtStop (shutdown: () => Promise<void>, log: Log, what: string): Promise<void> {
  await withTimeout(flushMs, shutdown().catch((error: unknown) => {
    log.warn({ cause: loggableError(error) }, `failed to send the last ${what}`)
  }))
}
