/**
 * Sends the spans of calls to a collector, by OpenTelemetry's packages: loaded where the configuration has
 * `telemetry.otlp`.
 *
 * Calls never wait for it. Spans wait in a bounded queue; those beyond it are dropped and counted, as are
 * those that the collector did not take.
 */

import {
  context,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type Tracer
} from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  envDetector,
  defaultResource,
  detectResources,
  resourceFromAttributes
} from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor
} from '@opentelemetry/sdk-trace-base'
import { hostname } from 'node:os'
import { withTimeout } from '../async/with-timeout.ts'
import { loggableError } from '../text/describe-error.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { version } from '../text/version.ts'
import { callSpans, type CallSpan } from './call-spans.ts'
import type { Call } from '../core/call.ts'
import type { Settings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

export type OtlpSettings = NonNullable<Settings['telemetry']['otlp']>

export interface CallTracerOptions {
  readonly log: Log
  /** Returns the kind of a provider; `undefined` for one that is gone. */
  readonly kindOf: (providerId: string) => ProviderKind | undefined
}

/** Milliseconds that a stop waits for the collector. */
const flushMs = 2000
/** `ExportResultCode.SUCCESS`, of a package that is not needed for anything else. */
const exportSucceeded = 0
/** Milliseconds between two lines of the log about spans that were dropped. */
const sayEveryMs = 60_000

export class CallTracer {
  readonly #options: CallTracerOptions
  readonly #provider: BasicTracerProvider
  readonly #queue: BoundedQueue
  readonly #tracer: Tracer

  /** @param exporter sends batches of spans */
  constructor (exporter: SpanExporter, { sample, maxQueuedSpans }: OtlpSettings, options: CallTracerOptions) {
    this.#options = options
    this.#queue = new BoundedQueue(exporter, maxQueuedSpans, options.log)
    this.#provider = new BasicTracerProvider({
      spanProcessors: [this.#queue],
      resource: defaultResource()
        .merge(resourceFromAttributes({
          'service.name': 'headgate',
          'service.version': version,
          'service.instance.id': `${hostname()}:${process.pid}`
        }))
        .merge(detectResources({ detectors: [envDetector] })),
      ...sample !== undefined && {
        sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sample) })
      }
    })
    this.#tracer = this.#provider.getTracer('headgate', version)
  }

  /** Queues the spans of a call that has ended; passed to the gateway as an observer. */
  readonly observe = (call: Call, row?: UsageRow): void => {
    const nowMs = performance.now()
    const { server, children } = callSpans(call, row, nowMs, this.#options.kindOf)
    // `performance.timeOrigin` would not know that the clock has been set since the process began.
    const epochMs = Date.now() - nowMs
    const parent = this.#start(server, epochMs)
    if (!parent.isRecording()) return
    const within = trace.setSpan(context.active(), parent)
    for (const child of children) end(this.#start(child, epochMs, within), child, epochMs)
    end(parent, server, epochMs)
  }

  /** Spans that were dropped since the start: the queue was full, or the collector did not take them. */
  get dropped (): number {
    return this.#queue.dropped
  }

  /** Sends what waits, for up to two seconds. */
  async close (): Promise<void> {
    const closed = this.#provider.shutdown().catch((error: unknown) => {
      this.#options.log.warn({ cause: loggableError(error) }, 'failed to send the last spans')
    })
    await withTimeout(flushMs, closed)
    this.#queue.dropWaiting()
  }

  #start (
    { name, kind, startedAtMs, attributes }: CallSpan,
    epochMs: number,
    within = context.active()
  ): Span {
    return this.#tracer.startSpan(
      name,
      {
        kind: kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT,
        startTime: startedAtMs + epochMs,
        attributes: known(attributes)
      },
      within
    )
  }
}

function end (
  span: Span,
  { events, failed, endedAtMs }: CallSpan,
  epochMs: number
): void {
  for (const { name, atMs } of events) span.addEvent(name, atMs + epochMs)
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end(endedAtMs + epochMs)
}

function known (attributes: CallSpan['attributes']): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

/** Bounds and counts what the batches of OpenTelemetry hold: by themselves they drop spans without a word. */
class BoundedQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor
  readonly #maxSpans: number
  readonly #log: Log
  #waiting = 0
  #dropped = 0
  #saidAtMs = -Infinity

  constructor (exporter: SpanExporter, maxSpans: number, log: Log) {
    this.#maxSpans = maxSpans
    this.#log = log
    this.#batches = new BatchSpanProcessor(
      {
        export: (spans, onResult) => {
          exporter.export(spans, result => {
            this.#waiting -= spans.length
            const code: number = result.code
            if (code !== exportSucceeded) this.#drop(spans.length, result.error)
            onResult(result)
          })
        },
        shutdown: async () => await exporter.shutdown(),
        forceFlush: async () => await exporter.forceFlush?.()
      },
      { maxQueueSize: maxSpans, maxExportBatchSize: Math.min(512, maxSpans) }
    )
  }

  get dropped (): number {
    return this.#dropped
  }

  onStart (): void { /* spans are queued when they end */ }

  onEnd (span: ReadableSpan): void {
    if (this.#waiting >= this.#maxSpans) {
      this.#drop(1)
      return
    }
    this.#waiting++
    this.#batches.onEnd(span)
  }

  async forceFlush (): Promise<void> {
    await this.#batches.forceFlush()
  }

  async shutdown (): Promise<void> {
    await this.#batches.shutdown()
  }

  /** Counts what was not sent before a stop. */
  dropWaiting (): void {
    if (this.#waiting > 0) this.#drop(this.#waiting)
    this.#waiting = 0
  }

  #drop (spans: number, error?: Error): void {
    this.#dropped += spans
    const nowMs = performance.now()
    if (nowMs - this.#saidAtMs < sayEveryMs) return
    this.#saidAtMs = nowMs
    this.#log.warn(
      { dropped: this.#dropped, ...error !== undefined && { cause: loggableError(error) } },
      'spans were dropped: the queue was full, or the collector refused them'
    )
  }
}

const exporters: Readonly<Record<OtlpSettings['protocol'], typeof ProtobufExporter>> = {
  'http/protobuf': ProtobufExporter,
  'http/json': JsonExporter
}

/** Opens the tracer of a configuration. */
export function openCallTracer (settings: OtlpSettings, options: CallTracerOptions): CallTracer {
  const headers = Object.fromEntries(
    Object.entries(settings.headers).map(([name, value]) => [name, value.reveal()])
  )
  const url = `${withoutTrailingSlashes(settings.endpoint)}/v1/traces`
  return new CallTracer(new exporters[settings.protocol]({ url, headers }), settings, options)
}
