/**
 * Exports the spans of calls to a collector with OpenTelemetry's packages; loaded if `telemetry.otlp` is
 * configured.
 *
 * Calls never wait for it. Spans wait in a bounded queue. Spans that do not fit, or that the collector
 * rejects, are dropped and counted.
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
  /** Calls per second that are exported because their caller sampled them. */
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
  /** Reads the texts of one call after the other. */
  #reading = Promise.resolve()
  /** Captures the texts of calls; `undefined` if spans have none. */
  readonly captureContent: CaptureContent | undefined

  /** @param exporter exports batches of spans */
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

  /** Starts the trace of a call, or continues its caller's. */
  readonly begin = (headers: Call['headers']): CallTrace =>
    beginTrace(headers, (traceId, caller) => this.#sampler.isSampled(traceId, caller?.isSampled))

  /**
   * Queues the spans of an ended call.
   *
   * @param kindOf returns the kind of a provider; `undefined` for a removed one
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
    // Counted before texts are read, so that calls do not pile up there if the collector is down.
    const queued = [spans.server, ...spans.children].filter(() => this.#counter.add())
    if (queued.length === 0) {
      content?.release()
      return
    }
    // Not `performance.timeOrigin`, which ignores clock changes since the process started.
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

  /** Never rejects: without texts the spans are exported anyway. */
  async #addContent (spans: CallSpans, content: TakenContent): Promise<void> {
    try {
      this.#complete(spans, await content.read())
    } catch (error) {
      const cause = loggableError(error)
      this.#options.log.warn({ cause }, 'failed to read the texts of a call for its spans')
      this.#complete(spans)
    }
  }

  /** Adds the other attributes of the configured format. */
  #complete (spans: CallSpans, content?: Content): void {
    if (content === undefined && !this.#hasOpenInference) return
    addAttributes(spans, content, (span, texts) => ({
      ...texts && contentAttributes(texts),
      ...this.#hasOpenInference && openInference(span, texts)
    }))
  }

  /** Queues the spans of calls whose process crashed. */
  readonly recover = (rows: readonly UsageRow[]): void => {
    for (const { name, trace, startedAtMs: startedAt, endedAt, attributes } of rows.flatMap(
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
        hasFailed: true
      } as const
      const callTrace = { traceId, state: undefined, flags: TraceFlags.SAMPLED }
      if (this.#counter.add()) this.#send(span, 0, callTrace, parentId)
    }
  }

  /** Spans dropped since the start: the queue was full, or the collector rejected them. */
  get dropped (): number {
    return this.#counter.dropped
  }

  /** Exports pending spans for up to two seconds. */
  async close (): Promise<void> {
    await flushAtStop(async () => {
      await this.#reading
      await this.#batches.shutdown()
    }, this.#options.log, 'spans')
    this.#counter.dropWaiting()
  }

  /**
   * Queues a span that the counter has admitted.
   *
   * @param parentId the parent span; absent for the root
   */
  #send (
    { name, kind, spanId = newSpanId(), startedAtMs, endedAtMs, attributes, events, hasFailed }: CallSpan,
    epochMs: number,
    { traceId, state, flags }: Pick<CallTrace, 'traceId' | 'state' | 'flags'>,
    parentId: string | undefined
  ): void {
    const traceState = state === undefined ? undefined : createTraceState(state)
    const context = { traceId, traceFlags: flags, ...traceState !== undefined && { traceState } }
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
      status: { code: hasFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
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

export function openCallTracer (settings: OtlpSettings, options: CallTracerOptions): CallTracer {
  const exporter = new exporters[settings.protocol](exporterOptions(settings, 'traces'))
  return new CallTracer(exporter, settings, options)
}
