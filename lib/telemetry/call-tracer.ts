/**
 * Sends the spans of calls to a collector, by OpenTelemetry's packages: loaded where the configuration has
 * `telemetry.otlp`.
 *
 * Calls never wait for it. Spans wait in a bounded queue; those beyond it are dropped and counted, as are
 * those that the collector did not take.
 */

import {
  createTraceState,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Attributes,
  type SpanContext
} from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { loggableError } from '../text/describe-error.ts'
import { version } from '../text/version.ts'
import { addAttributes, callSpans, contentAttributes, type CallSpan, type CallSpans } from './call-spans.ts'
import type { KindOf } from './gen-ai.ts'
import { ExportCounter } from './export-counter.ts'
import { exporterOptions, flushAtStop, hrTime, serviceResource } from './otlp-target.ts'
import { openInference } from './open-inference.ts'
import { recoveredSpan } from './recovered-span.ts'
import { SpanContent, type CaptureContent, type Content, type TakenContent } from './span-content.ts'
import { beginTrace, newSpanId } from './trace-context.ts'
import { TraceSampler } from './trace-sampler.ts'
import type { Call } from '../core/call.ts'
import type { CallTrace } from '../core/call-trace.ts'
import type { OtlpSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { UsageRow } from '../stores/tables.ts'

const instrumentationScope = { name: 'headgate', version }

export interface CallTracerOptions {
  readonly log: Log
  /** Calls a second that are sent because their caller says so. */
  readonly maxSampledPerSecond: number
}

export class CallTracer {
  readonly #options: CallTracerOptions
  readonly #batches: BatchSpanProcessor
  readonly #counter: ExportCounter
  readonly #resource = serviceResource()
  readonly #sampler: TraceSampler
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
    this.#batches = new BatchSpanProcessor(
      {
        export: (spans, onResult) => {
          this.#counter.send<ReadableSpan[]>(exporter, spans, spans.length, onResult)
        },
        shutdown: async () => await exporter.shutdown(),
        forceFlush: async () => await exporter.forceFlush?.()
      },
      { maxQueueSize: maxQueuedSpans, maxExportBatchSize: Math.min(512, maxQueuedSpans) }
    )
  }

  /** Begins the trace of a call, or goes on with that of its caller. */
  readonly begin = (headers: Call['headers']): CallTrace =>
    beginTrace(headers, (traceId, caller) => this.#sampler.isSampled(traceId, caller?.isSampled))

  /**
   * Queues the spans of a call that has ended.
   *
   * @param kindOf returns the kind of a provider; `undefined` for one that is gone
   * @param trustProxy as in `callSpans`
   */
  observe (
    call: Call,
    row: UsageRow | undefined,
    kindOf: KindOf,
    trustProxy = false
  ): void {
    const { trace: callTrace = this.begin({}) } = call.record
    const content = this.#content?.take(call)
    if (!callTrace.isSampled) {
      content?.release()
      return
    }
    const nowMs = performance.now()
    const spans = callSpans(call, row, nowMs, kindOf, trustProxy)
    // Counted before texts are read: a collector that is away must not let calls pile up there either.
    const queued = [spans.server, ...spans.children].filter(() => this.#counter.add())
    if (queued.length === 0) {
      content?.release()
      return
    }
    // `performance.timeOrigin` would not know that the clock has been set since the process began.
    const epochMs = Date.now() - nowMs
    const send = (): void => {
      for (const span of queued) {
        const { parentId = callTrace.spanId } = span
        this.#send(span, epochMs, callTrace, span === spans.server ? callTrace.parentId : parentId)
      }
    }
    if (content === undefined) {
      this.#complete(spans)
      send()
    } else this.#reading = this.#reading.then(async () => {
      await this.#addContent(spans, content)
      send()
    })
  }

  /** Never rejects: without its texts a call has its spans all the same. */
  async #addContent (spans: CallSpans, content: TakenContent): Promise<void> {
    try {
      this.#complete(spans, await content.read())
    } catch (error) {
      const cause = loggableError(error)
      this.#options.log.warn({ cause }, 'failed to read the texts of a call for its spans')
      this.#complete(spans)
    }
  }

  /** Adds what the configuration has in spans besides. */
  #complete (spans: CallSpans, content?: Content): void {
    if (content === undefined && !this.#hasOpenInference) return
    addAttributes(spans, content, (span, texts) => ({
      ...texts && contentAttributes(texts),
      ...this.#hasOpenInference && openInference(span, texts)
    }))
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
      if (this.#counter.add()) this.#send(span, 0, { traceId, state: undefined }, parentId)
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
      await this.#batches.shutdown()
    }, this.#options.log, 'spans')
    this.#counter.dropWaiting()
  }

  /**
   * Queues a span that the counter has room for.
   *
   * @param parentId the span above it; absent for the first of a trace
   */
  #send (
    { name, kind, spanId = newSpanId(), startedAtMs, endedAtMs, attributes, events, failed }: CallSpan,
    epochMs: number,
    { traceId, state }: Pick<CallTrace, 'traceId' | 'state'>,
    parentId: string | undefined
  ): void {
    const traceState = state === undefined ? undefined : createTraceState(state)
    const context = { traceId, traceFlags: TraceFlags.SAMPLED, ...traceState !== undefined && { traceState } }
    const spanContext: SpanContext = { ...context, spanId }
    const durationMs = Math.max(0, endedAtMs - startedAtMs)
    this.#batches.onEnd({
      name,
      kind: kinds[kind],
      spanContext: () => spanContext,
      ...parentId !== undefined && { parentSpanContext: { ...context, spanId: parentId, isRemote: true } },
      startTime: hrTime(startedAtMs + epochMs),
      endTime: hrTime(startedAtMs + epochMs + durationMs),
      duration: hrTime(durationMs),
      ended: true,
      status: { code: failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
      attributes: knownAttributes(attributes),
      links: [],
      events: events.map(event => ({
        name: event.name,
        time: hrTime(event.atMs + epochMs),
        attributes: knownAttributes(event.attributes ?? {}),
        droppedAttributesCount: 0
      })),
      resource: this.#resource,
      instrumentationScope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0
    })
  }
}

const kinds: Readonly<Record<CallSpan['kind'], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL
}

function knownAttributes (attributes: CallSpan['attributes']): Attributes {
  const result: Attributes = {}
  for (const name in attributes) {
    const value = attributes[name]
    if (value !== undefined) result[name] = value
  }
  return result
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
