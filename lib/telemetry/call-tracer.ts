/**
 * Sends the spans of calls to a collector, by OpenTelemetry's packages: loaded where the configuration has
 * `telemetry.otlp`.
 *
 * Calls never wait for it. Spans wait in a bounded queue; those beyond it are dropped and counted, as are
 * those that the collector did not take.
 */

import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
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
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor
} from '@opentelemetry/sdk-trace-base'
import { hostname } from 'node:os'
import { withTimeout } from '../async/with-timeout.ts'
import { loggableError } from '../text/describe-error.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { version } from '../text/version.ts'
import { randomHex } from '../text/ids.ts'
import { callSpans, type CallSpan } from './call-spans.ts'
import type { KindOf } from './gen-ai.ts'
import { recoveredSpan } from './recovered-span.ts'
import { beginTrace } from './trace-context.ts'
import { TraceSampler } from './trace-sampler.ts'
import type { Call } from '../core/call.ts'
import type { CallTrace } from '../core/call-trace.ts'
import type { OtlpSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { UsageRow } from '../stores/tables.ts'

export interface CallTracerOptions {
  readonly log: Log
  /** Calls a second that are sent because their caller says so. */
  readonly maxSampledPerSecond: number
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
  readonly #ids = new GivenIds()
  readonly #sampler: TraceSampler
  readonly #tracer: Tracer

  /** @param exporter sends batches of spans */
  constructor (exporter: SpanExporter, { sampler, sample, maxQueuedSpans }: OtlpSettings, options: CallTracerOptions) {
    this.#options = options
    this.#sampler = new TraceSampler({ sampler, sample, maxPerSecond: options.maxSampledPerSecond })
    this.#queue = new BoundedQueue(exporter, maxQueuedSpans, options.log)
    this.#provider = new BasicTracerProvider({
      spanProcessors: [this.#queue],
      // Whether a call is sent was decided when it began.
      sampler: new AlwaysOnSampler(),
      idGenerator: this.#ids,
      resource: defaultResource()
        .merge(resourceFromAttributes({
          'service.name': 'headgate',
          'service.version': version,
          'service.instance.id': `${hostname()}:${process.pid}`
        }))
        .merge(detectResources({ detectors: [envDetector] }))
    })
    this.#tracer = this.#provider.getTracer('headgate', version)
  }

  /** Begins the trace of a call, or goes on with that of its caller. */
  readonly begin = (headers: Call['headers']): CallTrace =>
    beginTrace(headers, (traceId, caller) => this.#sampler.isSampled(traceId, caller?.isSampled))

  /**
   * Queues the spans of a call that has ended.
   *
   * @param kindOf returns the kind of a provider; `undefined` for one that is gone
   */
  observe (
    call: Call,
    row: UsageRow | undefined,
    kindOf: KindOf
  ): void {
    const { trace: callTrace = this.begin({}) } = call.record
    if (!callTrace.isSampled) return
    const nowMs = performance.now()
    const { server, children } = callSpans(call, row, nowMs, kindOf)
    // `performance.timeOrigin` would not know that the clock has been set since the process began.
    const epochMs = Date.now() - nowMs
    const { traceId, spanId, parentId } = callTrace
    this.#send(server, epochMs, callTrace, parentId)
    for (const child of children) this.#send(child, epochMs, { traceId, state: callTrace.state }, spanId)
  }

  /** Queues the spans of calls that were interrupted with their process. */
  readonly recover = (rows: readonly UsageRow[]): void => {
    for (const { name, trace, startedAt, endedAt, attributes } of rows.flatMap(row => recoveredSpan(row) ?? [])) {
      const { trace_id: traceId, span_id: spanId, parent_id: parentId } = trace
      const span = { name, kind: 'server', spanId, startedAtMs: startedAt, endedAtMs: endedAt, attributes, events: [], failed: true } as const
      this.#send(span, 0, { traceId, state: undefined }, parentId)
    }
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

  /** @param parentId the span above it; absent for the first of a trace */
  #send (
    { name, kind, spanId, startedAtMs, endedAtMs, attributes, events, failed }: CallSpan,
    epochMs: number,
    within: Pick<CallTrace, 'traceId' | 'state'>,
    parentId: string | undefined
  ): void {
    const { traceId } = within
    this.#ids.next = { traceId, spanId }
    const span = this.#tracer.startSpan(
      name,
      { kind: kinds[kind], startTime: startedAtMs + epochMs, attributes: known(attributes) },
      parentId === undefined ? ROOT_CONTEXT : parentContext(within, parentId)
    )
    for (const event of events) span.addEvent(event.name, known(event.attributes ?? {}), event.atMs + epochMs)
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endedAtMs + epochMs)
  }
}

const kinds: Readonly<Record<CallSpan['kind'], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL
}

function parentContext ({ traceId, state }: Pick<CallTrace, 'traceId' | 'state'>, spanId: string): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
    ...state !== undefined && { traceState: createTraceState(state) }
  })
}

/** Gives the next span the ids that servers got while the call ran. */
class GivenIds implements IdGenerator {
  next: { readonly traceId: string, readonly spanId: string | undefined } | undefined

  generateTraceId (): string {
    return this.next?.traceId ?? randomHex()
  }

  generateSpanId (): string {
    return this.next?.spanId ?? randomHex().slice(0, 16)
  }
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
