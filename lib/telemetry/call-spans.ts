/**
 * Builds the spans of a call from its record after it has ended. During the call only ids are created.
 *
 * Names follow OpenTelemetry's conventions for HTTP, generative AI and MCP. Other attributes begin with
 * `headgate.`, except for `gen_ai.usage.cost`, which Langfuse and Datadog read. Prompts and answers are added
 * if configured (`contentAttributes`).
 *
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */

import { unknownCaller } from '../core/call-attribution.ts'
import {
  cutName, type CallRecord, type ToolListing, type ToolRun, type SentPart, type RecordedAttempt
} from '../core/record.ts'
import { clientScheme } from '../net/client-scheme.ts'
import type { Finding } from '../core/guard-findings.ts'
import { operationOf, providerNameOf, requestUsage, type KindOf } from './gen-ai.ts'
import { defaultProject } from '../core/key.ts'
import type { Call } from '../core/call.ts'
import type { Content } from './span-content.ts'
import type { Usage } from '../core/usage.ts'
import type { UsageRow } from '../stores/tables.ts'

export type AttributeValue = string | number | boolean | string[]
export type Attributes = Record<string, AttributeValue | undefined>

/** A span. Times are from `performance.now()`; those of a recovered span are Unix milliseconds. */
export interface CallSpan {
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal'
  /** Its id; absent if the trace was not propagated. */
  readonly spanId: string | undefined
  /** The id of the span above it; absent where that is the span of the call. */
  readonly parentId?: string
  readonly startedAtMs: number
  readonly endedAtMs: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  /** True if the operation failed, as opposed to its caller. */
  readonly hasFailed: boolean
  /** True for the attempt whose answer was used. */
  readonly isAnswer?: boolean
}

export interface SpanEvent {
  readonly name: string
  readonly atMs: number
  readonly attributes?: Attributes
}

export interface CallSpans {
  readonly server: CallSpan
  /** Its descendants, by start time. */
  readonly children: readonly CallSpan[]
}

type SpannedCall = Pick<Call, 'id' | 'headers' | 'record' | 'receivedAtMs'>

/**
 * Returns one span for the call and one per attempt, part of a split request, tool listing, tool call and
 * guard.
 *
 * @param row its usage row; absent for a call without a valid key
 * @param kindOf returns the kind of a provider; `undefined` for a removed one
 * @param trustProxy true to take the client's scheme from `X-Forwarded-Proto`
 */
export function callSpans (
  call: SpannedCall,
  row: UsageRow | undefined,
  endedAtMs: number,
  kindOf: KindOf,
  trustProxy = false
): CallSpans {
  const { record } = call
  const answered = record.routing.attempts?.filter(({ reason }) => reason === undefined) ?? []
  const attempts = record.routing.attempts?.map(attempt => {
    const usage = requestUsage(record, attempt)
    const costNanoUsd = answered.length === 1 && attempt === answered[0] ? row?.cost_nano_usd : undefined
    const providerName = providerNameOf(attempt.route.providerId, kindOf)
    return requestSpan(record, attempt, { usage, costNanoUsd, endedAtMs, providerName })
  })
  const children = [
    ...attempts ?? [],
    ...record.routing.sentParts?.map(part => partSpan(record, part, endedAtMs)) ?? [],
    ...record.tools.listings?.map(listingSpan) ?? [],
    ...record.tools.runs?.map(toolSpan) ?? [],
    ...guardSpans(record)
  ]
  return {
    server: serverSpan(call, row, endedAtMs, trustProxy),
    children: children.toSorted((a, b) => a.startedAtMs - b.startedAtMs)
  }
}

/**
 * Adds attributes to spans.
 *
 * @param content the texts of the call, for the span of the attempt that answered; without one, for the span
 *   of the call
 */
export function addAttributes (
  { server, children }: CallSpans,
  content: Content | undefined,
  attributesOf: (span: CallSpan, content: Content | undefined) => Attributes
): void {
  const answers = children.filter(({ isAnswer }) => isAnswer)
  const target = answers.length === 1 ? answers[0] : server
  for (const span of [server, ...children]) {
    Object.assign(span.attributes, attributesOf(span, span === target ? content : undefined))
  }
}

/** Returns the texts of a call as attributes of OpenTelemetry's conventions. */
export function contentAttributes ({ system, input, output, isTruncated }: Content): Attributes {
  const printed = (list: readonly object[]): string | undefined =>
    list.length === 0 ? undefined : JSON.stringify(list)
  return {
    'gen_ai.system_instructions': printed(system),
    'gen_ai.input.messages': printed(input),
    'gen_ai.output.messages': printed(output),
    'headgate.content_truncated': isTruncated ? true : undefined
  }
}

/** The request path may otherwise be as long as the header size limit. */
const maxPathLength = 1000

/** Returns the path of a request target, which may be an absolute URL with credentials. */
function pathIn (target: string): string {
  return target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?]*/i, '').split('?', 1)[0] || '/'
}

function serverSpan (
  { id, headers, record, receivedAtMs }: SpannedCall,
  row: UsageRow | undefined,
  endedAtMs: number,
  trustProxy: boolean
): CallSpan {
  const { session, endUser, tags, metadata } = record.guards.awaitsInspection ? unknownCaller : record.caller
  const {
    endpoint,
    request: { method, path, target, usesTls, requestedModel },
    caller: { keyId, keyName, projectName },
    routing,
    end: { status, outcome, errorCode },
    times: { firstByteMs },
    usage: { total: usage }
  } = record
  return {
    name: method === undefined || path === undefined ? endpoint : `${method} ${path}`,
    kind: 'server',
    spanId: record.trace?.spanId,
    startedAtMs: receivedAtMs,
    endedAtMs,
    hasFailed: outcome === 'error' && (status === undefined || status >= 500 || status < 400),
    events: [
      ...waitEvents(record),
      ...firstByteMs === undefined
        ? []
        : [{ name: 'headgate.first_output', atMs: receivedAtMs + firstByteMs }]
    ],
    attributes: {
      'http.request.method': method,
      'http.route': path,
      'url.path': target === undefined ? undefined : pathIn(target).slice(0, maxPathLength),
      'url.scheme': target === undefined
        ? undefined
        : clientScheme(usesTls, headers['x-forwarded-proto'], trustProxy),
      'http.response.status_code': status,
      'error.type': errorCode,
      'gen_ai.conversation.id': session === undefined ? undefined : cutName(session),
      'session.id': session === undefined ? undefined : cutName(session),
      'user.id': endUser === undefined ? undefined : cutName(endUser),
      'headgate.tags': tags === undefined ? undefined : [...tags],
      'headgate.metadata': metadata === undefined ? undefined : JSON.stringify(metadata),
      'headgate.call.id': id,
      'headgate.endpoint': endpoint,
      'headgate.key.id': keyId,
      'headgate.key.name': keyName,
      'headgate.project.name': keyId === undefined ? undefined : projectName ?? defaultProject,
      'headgate.requested_model': requestedModel === undefined ? undefined : cutName(requestedModel),
      'headgate.model': routing.modelId === undefined ? undefined : cutName(routing.modelId),
      'headgate.provider': routing.providerId,
      'headgate.outcome': outcome,
      'headgate.attempts': routing.requestCount,
      'headgate.retries': routing.retries,
      'headgate.hedges': routing.hedges,
      'headgate.turns': record.tools.turns,
      'headgate.cache': routing.cache,
      'headgate.refused_by': record.limits.refusedBy,
      'headgate.failed_attempts': routing.unusedRoutes?.map(
        ({ route, reason }) => `${cutName(route.modelId)}: ${reason}`
      ),
      'headgate.findings': record.guards.findings?.found.map(
        ({ guard, point, action, count }) => `${guard} ${point} ${action} ${count}`
      ),
      'headgate.overhead_ms': record.times.overheadMs,
      'headgate.upstream_wait_ms': record.times.upstreamWaitMs,
      'headgate.usage.input_tokens': row?.prompt_tokens ?? usage?.promptTokens,
      'headgate.usage.output_tokens': row?.completion_tokens ?? usage?.completionTokens,
      'headgate.usage.estimated': row === undefined ? record.usage.isEstimated : row.estimated === 1,
      'headgate.cost_usd': usdOf(row?.cost_nano_usd)
    }
  }
}

/** Shorter waits are processing time of the gateway. */
const minWaitMs = 1

/** Returns the wait between the key check and the first request: for the body, a limit or tool servers. */
function waitEvents ({ times: { keyCheckedAtMs }, routing: { attempts } }: CallRecord): SpanEvent[] {
  const startedAtMs = attempts?.[0]?.startedAtMs
  if (keyCheckedAtMs === undefined || startedAtMs === undefined) return []
  const waitMs = startedAtMs - keyCheckedAtMs
  return waitMs < minWaitMs
    ? []
    : [{ name: 'headgate.wait', atMs: keyCheckedAtMs, attributes: { 'headgate.wait_ms': waitMs } }]
}

interface OperationFacts {
  readonly usage: Usage | undefined
  readonly costNanoUsd: number | null | undefined
  /** When the call ended. */
  readonly endedAtMs: number
  readonly providerName: string
}

function requestSpan (
  record: CallRecord,
  { route, startedAtMs, outcomeAtMs, endedAtMs, reason, status, span }: RecordedAttempt,
  { usage, costNanoUsd, endedAtMs: callEndedAtMs, providerName }: OperationFacts
): CallSpan {
  const { endpoint, request: { isStreamed }, routing: { chosen, upstreamRequestId } } = record
  const { session } = record.guards.awaitsInspection ? unknownCaller : record.caller
  const operation = operationOf(endpoint)
  const isAnswer = reason === undefined && outcomeAtMs !== undefined
  return {
    name: `${operation} ${cutName(route.model)}`,
    kind: 'client',
    spanId: span?.spanId,
    startedAtMs,
    endedAtMs: endedAtMs ?? (isAnswer ? callEndedAtMs : outcomeAtMs ?? callEndedAtMs),
    hasFailed: reason !== undefined && !deliberateReasons.has(reason),
    isAnswer,
    events:
      isStreamed === true && outcomeAtMs !== undefined && isAnswer
        ? [{ name: 'headgate.first_output', atMs: outcomeAtMs }]
        : [],
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': providerName,
      'gen_ai.request.model': cutName(route.model),
      'gen_ai.request.stream': isStreamed,
      'gen_ai.conversation.id': session === undefined ? undefined : cutName(session),
      'gen_ai.response.time_to_first_chunk':
        isStreamed === true && isAnswer ? (outcomeAtMs - startedAtMs) / 1000 : undefined,
      'gen_ai.usage.input_tokens': usage?.promptTokens,
      'gen_ai.usage.output_tokens': usage?.completionTokens,
      'gen_ai.usage.cache_read.input_tokens': usage?.cachedTokens,
      'gen_ai.usage.cache_write.input_tokens': usage?.cacheWriteTokens,
      'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
      'gen_ai.usage.cost': usdOf(costNanoUsd),
      'http.response.status_code': status,
      'error.type': reason,
      'headgate.provider': route.providerId,
      'headgate.model': cutName(route.modelId),
      'headgate.upstream_request_id': isAnswer && route === chosen ? upstreamRequestId : undefined
    }
  }
}

/**
 * Returns the span of a part. It has no attributes of `gen_ai`: platforms would count it as another answer
 * in addition to that of its attempt.
 */
function partSpan (
  { endpoint }: CallRecord,
  { route, number, startedAtMs, endedAtMs, reason, status, span, attemptSpan }: SentPart,
  callEndedAtMs: number
): CallSpan {
  return {
    name: `part of ${operationOf(endpoint)} ${cutName(route.model)}`,
    kind: 'client',
    spanId: span.spanId,
    parentId: attemptSpan.spanId,
    startedAtMs,
    endedAtMs: endedAtMs ?? callEndedAtMs,
    hasFailed: reason !== undefined && !deliberateReasons.has(reason),
    events: [],
    attributes: {
      'http.response.status_code': status,
      'error.type': reason,
      'headgate.provider': route.providerId,
      'headgate.model': cutName(route.modelId),
      'headgate.part': number
    }
  }
}

function listingSpan ({ serverName, startedAtMs, endedAtMs, outcome, span }: ToolListing): CallSpan {
  return {
    name: 'tools/list',
    kind: 'client',
    spanId: span?.spanId,
    startedAtMs,
    endedAtMs,
    hasFailed: outcome !== 'ok',
    events: [],
    attributes: {
      'mcp.method.name': 'tools/list',
      'error.type': outcome === 'ok' ? undefined : outcome,
      'headgate.tool_server': cutName(serverName)
    }
  }
}

/** Returns a span for each guard and point of the call, from its first inspection to the end of its last. */
function guardSpans ({ guards: { findings } }: CallRecord): CallSpan[] {
  return findings?.list.flatMap(finding =>
    finding.action === 'inspected' ? guardSpan(finding, findings.found) : []
  ) ?? []
}

function guardSpan (
  { guard, point, count, durationMs, startedAtMs = 0, endedAtMs = startedAtMs }: Finding,
  found: readonly Finding[]
): CallSpan {
  const own = found.filter(finding => finding.guard === guard && finding.point === point)
  const isUnavailable = own.some(({ action }) => action === 'unavailable')
  return {
    name: `stage ${guard}`,
    kind: 'internal',
    spanId: undefined,
    startedAtMs,
    endedAtMs,
    hasFailed: isUnavailable,
    events: [],
    attributes: {
      'error.type': isUnavailable ? 'unavailable' : undefined,
      'headgate.stage.name': guard,
      'headgate.stage.point': point,
      'headgate.stage.inspections': count,
      'headgate.stage.inspection_ms': durationMs,
      'headgate.stage.findings': own.map(finding => `${finding.action} ${finding.count}`)
    }
  }
}

function toolSpan ({ serverName, toolName, startedAtMs, endedAtMs, outcome, span }: ToolRun): CallSpan {
  const tool = cutName(toolName)
  return {
    name: `tools/call ${tool}`,
    kind: 'client',
    spanId: span?.spanId,
    startedAtMs,
    endedAtMs,
    hasFailed: outcome === 'tool_error' || outcome === 'server_failed',
    events: [],
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'error.type': outcome === 'ok' ? undefined : outcome,
      'headgate.tool_server': cutName(serverName)
    }
  }
}

function usdOf (nanoUsd: number | null | undefined): number | undefined {
  return nanoUsd === null || nanoUsd === undefined ? undefined : nanoUsd / 1e9
}

/** Reasons why a request was cancelled deliberately rather than failed. */
const deliberateReasons: ReadonlySet<string> = new Set(['slower', 'client_closed_request', 'cancelled'])
