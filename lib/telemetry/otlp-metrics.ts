/**
 * Exports the Prometheus metrics to a collector with OpenTelemetry's packages; loaded if `telemetry.otlp` is
 * configured with `metrics`. Values are totals since the start, so a failed request loses nothing.
 */

import { ValueType, type HrTime } from '@opentelemetry/api'
import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  PeriodicExportingMetricReader,
  type DataPoint,
  type Histogram,
  type MetricData,
  type PushMetricExporter,
  type ResourceMetrics
} from '@opentelemetry/sdk-metrics'
import { version } from '../text/version.ts'
import { ExportCounter, exportFailed } from './export-counter.ts'
import { exporterOptions, flushAtStop, hrTime, serviceResource } from './otlp-target.ts'
import type { Family, Sample } from './metric-families.ts'
import type { HistogramValue } from '../core/histogram.ts'
import type { OtlpSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'

export interface OtlpMetrics {
  /** Failed requests to the collector since the start. */
  readonly failed: () => number
  /** Exports the last values for up to two seconds. */
  readonly close: () => Promise<void>
}

type Exporter = new (options: ReturnType<typeof exporterOptions>) => PushMetricExporter

const exporters: Readonly<Record<OtlpSettings['protocol'], Exporter>> = {
  'http/protobuf': ProtobufExporter,
  'http/json': JsonExporter
}

/** Starts exporting metrics. @param families called for each request to the collector */
export function openOtlpMetrics (
  settings: OtlpSettings,
  families: () => readonly Family[],
  log: Log
): OtlpMetrics {
  const exporter = new exporters[settings.protocol](exporterOptions(settings, 'metrics'))
  const counter = new ExportCounter(1, log, 'metrics were not sent: the collector did not accept them')
  const resource = serviceResource()
  const startTime = hrTime(Date.now())
  const reader = new PeriodicExportingMetricReader({
    exportIntervalMillis: settings.metricsIntervalMs,
    exportTimeoutMillis: settings.metricsIntervalMs,
    exporter: {
      export: (metrics, onResult) => {
        // The previous request is still in flight.
        if (!counter.add()) return onResult({ code: exportFailed })
        counter.send<ResourceMetrics>(exporter, metrics, 1, onResult)
      },
      forceFlush: async () => await exporter.forceFlush(),
      shutdown: async () => await exporter.shutdown()
    },
    metricProducers: [{
      collect: async () => ({
        resourceMetrics: {
          resource,
          scopeMetrics: [{
            scope: { name: 'headgate', version },
            metrics: families().map(family => metricOf(family, startTime, hrTime(Date.now())))
          }]
        },
        errors: []
      })
    }]
  })
  const provider = new MeterProvider({ resource, readers: [reader] })
  return {
    failed: () => counter.dropped,
    close: async () => {
      await flushAtStop(async () => await provider.shutdown(), log, 'metrics')
      counter.dropWaiting()
    }
  }
}

/** Converts a metric. Its name and labels may be Prometheus names or OpenTelemetry names with dots. */
function metricOf (family: Family, startTime: HrTime, endTime: HrTime): MetricData {
  const { name, help, type, unit = '', samples } = family
  const point = <T>({ labels }: Sample, value: T): DataPoint<T> =>
    ({ startTime, endTime, attributes: labels, value })
  const metric = {
    descriptor: { name, description: help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE
  }
  if (type === 'histogram') {
    const dataPoints = samples.flatMap(sample =>
      typeof sample.value === 'number' ? [] : point(sample, histogramOf(sample.value)))
    return { ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints }
  }
  const dataPoints = samples.flatMap(sample =>
    typeof sample.value === 'number' ? point(sample, sample.value) : [])
  return type === 'counter'
    ? { ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...metric, dataPointType: DataPointType.GAUGE, dataPoints }
}

function histogramOf ({ bounds, counts, sum }: HistogramValue): Histogram {
  return {
    buckets: { boundaries: [...bounds], counts: [...counts] },
    count: counts.reduce((total, count) => total + count, 0),
    sum
  }
}
