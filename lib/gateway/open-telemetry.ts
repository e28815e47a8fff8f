/** Loads the exporters of spans, metrics and log records that are configured. */

import { loadOptional } from '../config/optional-packages.ts'
import type { OtlpSettings, Settings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { CallTracer } from '../telemetry/call-tracer.ts'
import type { Family } from '../telemetry/metric-families.ts'
import type { OtlpLogs } from '../telemetry/otlp-logs.ts'
import type { OtlpMetrics } from '../telemetry/otlp-metrics.ts'

type Signal = 'traces' | 'metrics' | 'logs'

/** The packages that each needs: optional peer dependencies. */
const packages: Readonly<Record<Signal, readonly string[]>> = {
  traces: [
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/exporter-trace-otlp-proto',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace-base'
  ],
  metrics: [
    '@opentelemetry/api',
    '@opentelemetry/exporter-metrics-otlp-http',
    '@opentelemetry/exporter-metrics-otlp-proto',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-metrics'
  ],
  logs: [
    '@opentelemetry/api',
    '@opentelemetry/api-logs',
    '@opentelemetry/exporter-logs-otlp-http',
    '@opentelemetry/exporter-logs-otlp-proto',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-logs'
  ]
}

/** Opens the exporter of spans. @throws ConfigError if its packages are not installed */
export async function openTracer (
  { telemetry: { otlp, maxSampledPerSecond } }: Settings,
  log: Log
): Promise<CallTracer | undefined> {
  if (otlp?.traces !== true) return undefined
  const { openCallTracer } = await load('traces', async () => await import('../telemetry/call-tracer.ts'))
  return openCallTracer(otlp, { log, maxSampledPerSecond })
}

/** Starts exporting metrics. @throws ConfigError if the packages are not installed */
export async function openMetricsExport (
  otlp: OtlpSettings,
  families: () => readonly Family[],
  log: Log
): Promise<OtlpMetrics> {
  const { openOtlpMetrics } = await load('metrics', async () => await import('../telemetry/otlp-metrics.ts'))
  return openOtlpMetrics(otlp, families, log)
}

/** Opens the exporter of log records. @throws ConfigError if its packages are not installed */
export async function openLogsExport (otlp: OtlpSettings, log: Log): Promise<OtlpLogs> {
  const { openOtlpLogs } = await load('logs', async () => await import('../telemetry/otlp-logs.ts'))
  return openOtlpLogs(otlp, log)
}

async function load<T> (signal: Signal, importModule: () => Promise<T>): Promise<T> {
  return await loadOptional(importModule, `telemetry.otlp.${signal}`, packages[signal])
}
