/**
 * Prints and reads the steps of a call in its usage row: what happened between acceptance and end. A call
 * that immediately made one attempt has none. Names are truncated; steps contain no text of prompts,
 * answers, arguments or results.
 */

import { defaultMessage } from '../core/errors.ts'
import { rankText } from '../core/explain-route.ts'
import {
  hadChoiceOfRoutes,
  type CallRecord,
  type ToolRun,
  type UnusedRoute,
  type RecordedAttempt
} from '../core/record.ts'
import type { Route } from '../core/route.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Times are milliseconds since the call was accepted. A step that did not happen is absent. */
export interface CallSteps {
  readonly key_checked_ms?: number | undefined
  /** The attempts; rows call them `requests`. */
  readonly requests?: readonly AttemptStep[] | undefined
  readonly tools?: readonly ToolStep[] | undefined
  /** The candidate routes, best first, and the reason for each one's position. */
  readonly candidates?: readonly RouteStep[] | undefined
  /** Routes that were not tried. */
  readonly skipped?: readonly RouteStep[] | undefined
  /** The limit that refused the call. */
  readonly refused_by?: string | undefined
  readonly overhead_ms?: number | undefined
  readonly upstream_wait_ms?: number | undefined
  readonly upstream_request_id?: string | undefined
  readonly trace?: TraceStep | undefined
  /** The message the caller got, if it adds to the error code. */
  readonly error_message?: string | undefined
}

/** A call's place in a distributed trace. */
export interface TraceStep {
  readonly trace_id: string
  readonly span_id: string
  /** The caller's span. */
  readonly parent_id?: string | undefined
  /** True if the call's spans are exported. */
  readonly sampled: boolean
}

export interface RouteStep {
  readonly model: string
  readonly provider: string
  readonly reason: string
}

export interface AttemptStep extends Omit<RouteStep, 'reason'> {
  readonly at_ms: number
  /** Absent if the attempt was waiting. */
  readonly took_ms?: number | undefined
  /** Absent on success. */
  readonly reason?: string | undefined
  readonly status?: number | undefined
}

export interface ToolStep {
  readonly server: string
  readonly tool: string
  readonly at_ms: number
  readonly took_ms: number
  readonly outcome: ToolRun['outcome']
}

/**
 * If the first attempt begins later than this, the call has waited for something: its body, a limit or tool
 * servers.
 */
const minWaitStepMs = 50
const maxAttempts = 16
const maxTools = 32
const maxRoutes = 8
const maxCharacters = 200

/**
 * Prints the steps of a call accepted at `receivedAtMs` (`performance.now()`); `null` if the other columns
 * already tell everything.
 */
export function printSteps (record: CallRecord, receivedAtMs: number): string | null {
  // Left out if it only repeats the error code's default message.
  const errorMessage =
    record.end.errorMessage === undefined || record.end.errorMessage === defaultMessage(record.end.errorCode)
      ? undefined
      : record.end.errorMessage
  if (errorMessage === undefined && isPlain(record, receivedAtMs)) return null
  const {
    times: { keyCheckedAtMs, overheadMs, upstreamWaitMs },
    routing: { attempts, routes, unusedRoutes, upstreamRequestId },
    tools: { runs },
    limits: { refusedBy },
    trace
  } = record
  const since = (atMs: number): number => tenths(atMs - receivedAtMs)
  const skipped = unusedRoutes?.filter(
    ({ route }) => attempts?.some(attempt => attempt.route === route) !== true
  )
  return JSON.stringify({
    key_checked_ms: keyCheckedAtMs && since(keyCheckedAtMs),
    requests: attempts?.slice(0, maxAttempts).map(attempt => attemptStep(attempt, since)),
    tools: runs?.slice(0, maxTools).map(run => toolStep(run, since)),
    candidates:
      routes !== undefined && routes.length > 1 ? routes.slice(0, maxRoutes).map(candidate) : undefined,
    skipped: skipped?.slice(0, maxRoutes).map(skippedRoute),
    refused_by: refusedBy,
    overhead_ms: overheadMs && tenths(overheadMs),
    upstream_wait_ms: tenths(upstreamWaitMs),
    upstream_request_id: upstreamRequestId && cut(upstreamRequestId),
    error_message: errorMessage && cut(errorMessage),
    trace: trace && {
      trace_id: trace.traceId,
      span_id: trace.spanId,
      parent_id: trace.parentId,
      sampled: trace.isSampled
    }
  } satisfies CallSteps)
}

/** Reads the steps of a row of any version; a row without steps returns an empty object. */
export function readSteps ({ steps }: Pick<UsageRow, 'steps'>): CallSteps {
  return steps === null ? {} : JSON.parse(steps) as CallSteps // written by this gateway
}

/**
 * Returns true if the columns tell everything: at most one attempt, made immediately, no refusing limit and
 * no trace.
 */
function isPlain (record: CallRecord, receivedAtMs: number): boolean {
  const { routing: { attempts }, tools: { runs }, limits: { refusedBy }, trace } = record
  if (trace !== undefined || runs !== undefined || refusedBy !== undefined) return false
  if (hadChoiceOfRoutes(record.routing)) return false
  const first = attempts?.[0]
  if (first === undefined) return true
  return (
    attempts?.length === 1 && first.reason === undefined && first.startedAtMs - receivedAtMs < minWaitStepMs
  )
}

function attemptStep (
  { route, startedAtMs, outcomeAtMs, reason, status }: RecordedAttempt,
  since: (atMs: number) => number
): AttemptStep {
  const tookMs = outcomeAtMs === undefined ? undefined : tenths(outcomeAtMs - startedAtMs)
  return {
    model: cut(route.modelId),
    provider: route.providerId,
    at_ms: since(startedAtMs),
    took_ms: tookMs,
    reason,
    status
  }
}

function toolStep (
  { serverName, toolName, startedAtMs, endedAtMs, outcome }: ToolRun,
  since: (atMs: number) => number
): ToolStep {
  return {
    server: cut(serverName),
    tool: cut(toolName),
    at_ms: since(startedAtMs),
    took_ms: tenths(endedAtMs - startedAtMs),
    outcome
  }
}

function candidate (route: Route, index: number): RouteStep {
  return { model: cut(route.modelId), provider: route.providerId, reason: rankText(route, index) }
}

function skippedRoute ({ route, reason }: UnusedRoute): RouteStep {
  return { model: cut(route.modelId), provider: route.providerId, reason: cut(reason) }
}

function tenths (ms: number): number {
  return Math.round(ms * 10) / 10
}

function cut (text: string): string {
  return text.length > maxCharacters ? text.slice(0, maxCharacters) : text
}
