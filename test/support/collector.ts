/** A collector of OpenTelemetry for tests: takes traces in JSON, and says what came. */

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
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{ readonly name: string, readonly atMs: number }>
}

export interface Collector {
  readonly url: string
  readonly requests: SeenRequest[]
  readonly spans: () => SeenSpan[]
}

interface JsonValue { readonly stringValue?: string, readonly intValue?: number | string, readonly doubleValue?: number, readonly boolValue?: boolean, readonly arrayValue?: { readonly values: JsonValue[] } }
interface JsonAttribute { readonly key: string, readonly value: JsonValue }
interface JsonSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly attributes: JsonAttribute[]
  readonly events: ReadonlyArray<{ readonly name: string, readonly timeUnixNano: string }>
}
interface JsonTraces {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: JsonAttribute[] }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: JsonSpan[] }>
  }>
}

/** Starts a collector that is closed when the test ends. @param script how it answers; default: it takes all */
export async function collector (t: Test, script: Script = { pieces: ['{}'] }): Promise<Collector> {
  const server = await fakeUpstream(script)
  t.teardown(server.close)
  return {
    url: server.url,
    requests: server.requests,
    spans: () => server.requests.flatMap(({ json }) => spansIn(json as JsonTraces)) // sent as http/json
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
    parentSpanId: span.parentSpanId,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    failed: span.status.code === 2,
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, timeUnixNano }) => ({ name, atMs: Number(timeUnixNano) / 1e6 }))
  }))))
}

function attributesOf (attributes: readonly JsonAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))
}

function valueOf (value: JsonValue): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(valueOf)
  return value.stringValue ?? value.doubleValue ?? value.boolValue ?? Number(value.intValue)
}
