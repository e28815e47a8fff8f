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
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor
} from '@opentelemetry/sdk-trace-base'
import { loggableError } from '../text/describe-error.ts'
import { version } from '../text/version.ts'
import { randomHex } from '../text/ids.ts'
import { callSpans, contentAttributes, withAttributes, type CallSpan, type CallSpans } from './call-spans.ts'
import type { KindOf } from './gen-ai.ts'
import { ExportCounter } from './export-counter.ts'
import { exporterOptions, flushAtStop, serviceResource } from './otlp-target.ts'
import { openInference } from './open-inference.ts'
import { recoveredSpan } from './recovered-span.ts'
import { SpanContent, type CaptureContent, type Content, type TakenContent } from './span-content.ts'
import { beginTrace } from './trace-context.ts'
import { TraceSampler } from './trace-sampler.ts'
import type { Call } from '../core/call.ts'
import type { CallTrace } from '../core/call-trace.ts'
import type { OtlpSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Messages in OpenInference have many of them; the SDK would drop those beyond 128. */
const maxAttributes = 1000

export interface CallTracerOptions {
  readonly log: Log
  /** Calls a second that are sent because their caller says so. */
  readonly maxSampledPerSecond: number
}

export class CallTracer {
  readonly #options: CallTracerOptions
  readonly #provider: BasicTracerProvider
  readonly #counter: ExportCounter
  readonly #ids = new GivenIds()
  readonly #sampler: TraceSampler
  readonly #tracer: Tracer
  readonly #content: SpanContent | undefined
  readonly #hasOpenInference: boolean
  /** Texts are read one call after the other. */
  #reading = Promise.resolve()
  /** Has the texts of calls noted; `undefined` where spans have none. */
  readonly captureContent: CaptureContent | undefined

  /** @param exporter sends batches of spans */
  constructor (
    exporter: SpanExporter,
    { sampler, sample, maxQueuedSpans, content, openinference }: OtlpSettings,
    options: CallTracerOptions
  ) {
    this.#options = options
    this.#content = content && new SpanContent(content)
    this.#hasOpenInference = openinference
    this.captureContent = this.#content?.capturing
    this.#sampler = new TraceSampler({ sampler, sample, maxPerSecond: options.maxSampledPerSecond })
    this.#counter = new ExportCounter(
      maxQueuedSpans,
      options.log,
      'spans were dropped: the queue was full, or the collector refused them'
    )
    this.#provider = new BasicTracerProvider({
      spanProcessors: [new SpanQueue(exporter, maxQueuedSpans, this.#counter)],
      // Whether a call is sent was decided when it began.
      sampler: new AlwaysOnSampler(),
      idGenerator: this.#ids,
      spanLimits: { attributeCountLimit: maxAttributes },
      resource: serviceResource()
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
    const content = this.#content?.take(call)
    if (!callTrace.isSampled) {
      content?.release()
      return
    }
    const nowMs = performance.now()
    const spans = callSpans(call, row, nowMs, kindOf)
    // `performance.timeOrigin` would not know that the clock has been set since the process began.
    const epochMs = Date.now() - nowMs
    if (content === undefined) this.#sendAll(this.#completed(spans), epochMs, callTrace)
    else this.#reading = this.#reading.then(async () => {
      this.#sendAll(await this.#withContent(spans, content), epochMs, callTrace)
    })
  }

  /** Never rejects: without its texts a call has its spans all the same. */
  async #withContent (spans: CallSpans, content: TakenContent): Promise<CallSpans> {
    try {
      return this.#completed(spans, await content.read())
    } catch (error) {
      const cause = loggableError(error)
      this.#options.log.warn({ cause }, 'failed to read the texts of a call for its spans')
      return this.#completed(spans)
    }
  }

  /** Adds what the configuration has in spans besides. */
  #completed (spans: CallSpans, content?: Content): CallSpans {
    if (content === undefined && !this.#hasOpenInference) return spans
    return withAttributes(spans, content, (span, texts) => ({
      ...texts && contentAttributes(texts),
      ...this.#hasOpenInference && openInference(span, texts)
    }))
  }

  #sendAll ({ server, children }: CallSpans, epochMs: number, callTrace: CallTrace): void {
    const { traceId, spanId, parentId } = callTrace
    this.#send(server, epochMs, callTrace, parentId)
    for (const child of children) this.#send(child, epochMs, { traceId, state: callTrace.state }, spanId)
  }

  /** Queues the spans of calls that were interrupted with their process. */
  readonly recover = (rows: readonly UsageRow[]): void => {
    for (const { name, trace, startedAt, endedAt, attributes } of rows.flatMap(
      row => recoveredSpan(row) ?? []
    )) {
      const { trace_id: traceId, span_id: spanId, parent_id: parentId } = trace
      const span = {
        name,
        kind: 'server',
        spanId,
        startedAtMs: startedAt,
        endedAtMs: endedAt,
        attributes,
        events: [],
        failed: true
      } as const
      this.#send(span, 0, { traceId, state: undefined }, parentId)
    }
  }

  /** Spans that were dropped since the start: the queue was full, or the collector did not take them. */
  get dropped (): number {
    return this.#counter.dropped
  }

  /** Sends what waits, for up to two seconds. */
  async close (): Promise<void> {
    await flushAtStop(async () => {
      await this.#reading
      await this.#provider.shutdown()
    }, this.#options.log, 'spans')
    this.#counter.dropWaiting()
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

/** Queues spans when they end. */
class SpanQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor
  readonly #counter: ExportCounter

  constructor (exporter: SpanExporter, maxSpans: number, counter: ExportCounter) {
    this.#counter = counter
    this.#batches = new BatchSpanProcessor(
      {
        export: (spans, onResult) => {
          counter.send<ReadableSpan[]>(exporter, spans, spans.length, onResult)
        },
        shutdown: async () => await exporter.shutdown(),
        forceFlush: async () => await exporter.forceFlush?.()
      },
      { maxQueueSize: maxSpans, maxExportBatchSize: Math.min(512, maxSpans) }
    )
  }

  onStart (): void { /* spans are queued when they end */ }

  onEnd (span: ReadableSpan): void {
    if (this.#counter.add()) this.#batches.onEnd(span)
  }

  async forceFlush (): Promise<void> {
    await this.#batches.forceFlush()
  }

  async shutdown (): Promise<void> {
    await this.#batches.shutdown()
  }
}

const exporters: Readonly<Record<OtlpSettings['protocol'], typeof ProtobufExporter>> = {
  'http/protobuf': ProtobufExporter,
  'http/json': JsonExporter
}

/** Opens the tracer of a configuration. */
export function openCallTracer (settings: OtlpSettings, options: CallTracerOptions): CallTracer {
  const exporter = new exporters[settings.protocol](exporterOptions(settings, 'traces'))
  return new CallTracer(exporter, settings, options)
}
