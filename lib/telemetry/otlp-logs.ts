/**
 * Also exports log lines to a collector with OpenTelemetry's packages; loaded if `telemetry.otlp` is
 * configured with `logs`. Nothing waits for the collector. Records that do not fit in the queue are dropped
 * and counted.
 */

import { ROOT_CONTEXT, trace, TraceFlags, type Context } from '@opentelemetry/api'
import { SeverityNumber, type AnyValueMap } from '@opentelemetry/api-logs'
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordExporter,
  type ReadableLogRecord
} from '@opentelemetry/sdk-logs'
import { version } from '../text/version.ts'
import { ExportCounter } from './export-counter.ts'
import { exporterOptions, flushAtStop, serviceResource } from './otlp-target.ts'
import type { OtlpSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'

export interface OtlpLogs {
  /** Queues a log line: a JSON object. */
  readonly write: (line: string) => void
  /** Records dropped since the start. */
  readonly dropped: () => number
  /** Exports pending records for up to two seconds. */
  readonly close: () => Promise<void>
}

const exporters: Readonly<Record<OtlpSettings['protocol'], typeof ProtobufExporter>> = {
  'http/protobuf': ProtobufExporter,
  'http/json': JsonExporter
}

export function openOtlpLogs (settings: OtlpSettings, log: Log): OtlpLogs {
  const exporter: LogRecordExporter = new exporters[settings.protocol](exporterOptions(settings, 'logs'))
  const { maxQueuedLogs } = settings
  const counter = new ExportCounter(
    maxQueuedLogs,
    log,
    'log records were dropped: the queue was full, or the collector refused them'
  )
  const provider = new LoggerProvider({
    resource: serviceResource(),
    processors: [new BatchLogRecordProcessor({
      exporter: {
        export: (records, onResult) => {
          counter.send<ReadableLogRecord[]>(exporter, records, records.length, onResult)
        },
        forceFlush: async () => await exporter.forceFlush(),
        shutdown: async () => await exporter.shutdown()
      },
      maxQueueSize: maxQueuedLogs,
      maxExportBatchSize: Math.min(512, maxQueuedLogs)
    })]
  })
  const logger = provider.getLogger('headgate', version)
  return {
    write: line => { if (counter.add()) logger.emit(logRecordOf(line)) },
    dropped: () => counter.dropped,
    close: async () => {
      await flushAtStop(async () => await provider.shutdown(), log, 'log records')
      counter.dropWaiting()
    }
  }
}

interface LogRecord {
  readonly timestamp: number
  readonly severityNumber: SeverityNumber
  readonly severityText: string
  readonly body: string
  readonly attributes: AnyValueMap
  readonly context: Context
}

/** Converts a log line to a record, within the span that the line names. */
export function logRecordOf (line: string): LogRecord {
  const { level, time, msg, trace_id: traceId, span_id: spanId, ...attributes } = JSON.parse(line) as Line
  return {
    timestamp: Date.parse(time),
    severityNumber: severities[level] ?? SeverityNumber.UNSPECIFIED,
    severityText: level.toUpperCase(),
    body: msg,
    attributes,
    context: traceId === undefined || spanId === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.NONE })
  }
}

/** The format of `log/log`. */
type Line = AnyValueMap & {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly trace_id?: string
  readonly span_id?: string
}

const severities: Readonly<Record<string, SeverityNumber>> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL
}
