/** An OpenTelemetry collector for tests: accepts traces, metrics and logs in JSON, and records them. */

import { fakeUpstream, type Script, type SeenRequest } from './upstream.ts'
import type { Test } from 'tap'

export interface SeenSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startMs: number
  readonly endMs: number
  readonly failed: boolean
  /** The flags of `traceparent`. */
  readonly flags: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{ readonly name: string, readonly atMs: number }>
}

export interface Collector {
  readonly url: string
  readonly requests: SeenRequest[]
  readonly spans: () => SeenSpan[]
  /** The metrics of the last request. */
  readonly metrics: () => SeenMetric[]
  readonly logs: () => SeenLog[]
}

export interface SeenMetric {
  readonly name: string
  readonly unit: string
  readonly kind: 'sum' | 'gauge' | 'histogram'
  readonly points: ReadonlyArray<{
    readonly attributes: Readonly<Record<string, unknown>>
    /** For a histogram its sum. */
    readonly value: number
    readonly counts?: readonly number[]
    readonly bounds?: readonly number[]
  }>
}

export interface SeenLog {
  readonly body: unknown
  readonly severity: number
  readonly severityText: string
  readonly atMs: number
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
}

interface JsonValue {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values?: JsonValue[] }
  readonly kvlistValue?: { readonly values: JsonAttribute[] }
}
interface JsonAttribute {
  readonly key: string
  readonly value: JsonValue
}
interface JsonSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly flags?: number
  readonly attributes?: JsonAttribute[]
  readonly events?: ReadonlyArray<{ readonly name: string, readonly timeUnixNano: string }>
}
interface JsonPoint {
  readonly attributes?: JsonAttribute[]
  readonly asDouble?: number
  readonly asInt?: number | string
  readonly sum?: number
  readonly bucketCounts?: ReadonlyArray<number | string>
  readonly explicitBounds?: readonly number[]
}
interface JsonMetrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{
      readonly metrics: ReadonlyArray<{
        readonly name: string
        readonly unit?: string
        readonly sum?: { readonly dataPoints?: JsonPoint[] }
        readonly gauge?: { readonly dataPoints?: JsonPoint[] }
        readonly histogram?: { readonly dataPoints?: JsonPoint[] }
      }>
    }>
  }>
}
interface JsonLogs {
  readonly resourceLogs: ReadonlyArray<{
    readonly scopeLogs: ReadonlyArray<{
      readonly logRecords: ReadonlyArray<{
        readonly body: JsonValue
        readonly severityNumber: number
        readonly severityText: string
        readonly timeUnixNano: string
        readonly traceId?: string
        readonly spanId?: string
        readonly attributes?: JsonAttribute[]
      }>
    }>
  }>
}
interface JsonTraces {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: JsonAttribute[] }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: JsonSpan[] }>
  }>
}

/**
 * Starts a collector that is closed when the test ends.
 * @param script how it answers; default: it accepts everything
 */
export async function collector (t: Test, script: Script = { pieces: ['{}'] }): Promise<Collector> {
  const server = await fakeUpstream(script)
  t.teardown(server.close)
  // sent as http/json
  const seen = (): Signals => signalsIn(server.requests.map(({ json }) => json as object))
  return {
    url: server.url,
    requests: server.requests,
    spans: () => seen().spans,
    metrics: () => seen().metrics,
    logs: () => seen().logs
  }
}

export interface Signals {
  readonly spans: SeenSpan[]
  /** The last values. */
  readonly metrics: SeenMetric[]
  readonly logs: SeenLog[]
}

/** Reads requests in JSON, as sent and as written by collectors. */
export function signalsIn (requests: readonly object[]): Signals {
  // by the field that each kind has
  const metrics = requests.findLast(request => 'resourceMetrics' in request) as JsonMetrics | undefined
  return {
    spans: requests.flatMap(request => 'resourceSpans' in request ? spansIn(request as JsonTraces) : []),
    metrics: metricsIn(metrics),
    logs: requests.flatMap(request => 'resourceLogs' in request ? logsIn(request as JsonLogs) : [])
  }
}

/** Returns the attributes of the resource of a request. */
export function resourceOf ({ json }: SeenRequest): Record<string, unknown> {
  const [first] = (json as JsonTraces).resourceSpans // sent as http/json
  return attributesOf(first?.resource.attributes ?? [])
}

function spansIn ({ resourceSpans }: JsonTraces): SeenSpan[] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(span => ({
    name: span.name,
    kind: span.kind,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId === '' ? undefined : span.parentSpanId,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    failed: span.status.code === 2,
    flags: (span.flags ?? 0) & 0xff, // the rest says whether the parent is remote
    attributes: attributesOf(span.attributes),
    events: (span.events ?? []).map(({ name, timeUnixNano }) => ({ name, atMs: Number(timeUnixNano) / 1e6 }))
  }))))
}

function metricsIn (json: JsonMetrics | undefined): SeenMetric[] {
  const metrics =
    json?.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(scope => scope.metrics)) ?? []
  return metrics.map(({ name, unit, sum, gauge, histogram }) => ({
    name,
    unit: unit ?? '',
    kind: sum === undefined ? (gauge === undefined ? 'histogram' : 'gauge') : 'sum',
    points:
      (sum ?? gauge ?? histogram)?.dataPoints?.map(point => ({
        attributes: attributesOf(point.attributes),
        value: Number(point.asDouble ?? point.asInt ?? point.sum),
        ...point.bucketCounts !== undefined && {
          counts: point.bucketCounts.map(Number),
          bounds: point.explicitBounds ?? []
        }
      })) ?? []
  }))
}

function logsIn ({ resourceLogs }: JsonLogs): SeenLog[] {
  return resourceLogs.flatMap(({ scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(record => ({
        body: valueOf(record.body),
        severity: record.severityNumber,
        severityText: record.severityText,
        atMs: Number(record.timeUnixNano) / 1e6,
        traceId: record.traceId === '' ? undefined : record.traceId,
        spanId: record.spanId === '' ? undefined : record.spanId,
        attributes: attributesOf(record.attributes)
      }))
    )
  )
}

function attributesOf (attributes: readonly JsonAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))
}

function valueOf (value: JsonValue): unknown {
  if (value.kvlistValue !== undefined) return attributesOf(value.kvlistValue.values)
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueOf)
  return value.stringValue ?? value.doubleValue ?? value.boolValue ?? Number(value.intValue)
}
