import type { TimelineEntry } from '../../schemas/admin/calls.ts'
import type { UsageRow } from '../stores/tables.ts'
import type { CallSteps, AttemptStep, ToolStep } from './call-steps.ts'
import { inspectionsOf, readNotes, type GuardInspection } from './guard-notes.ts'

type TimedRow = Pick<
  UsageRow,
  'model' | 'provider' | 'attempts' | 'first_byte_ms' | 'duration_ms' | 'error_code' | 'steps' | 'findings'
>

/**
 * Lists the steps of a call in order. A plain call lists its one request without a time, because it was sent
 * immediately.
 */
export function timelineOf (row: TimedRow, steps: CallSteps): TimelineEntry[] {
  const { key_checked_ms: checkedMs, requests = [], tools = [], skipped = [], refused_by: limit } = steps
  const {
    model,
    provider,
    attempts,
    first_byte_ms: firstByteMs,
    duration_ms: durationMs,
    error_code: errorCode
  } = row
  const inspections = inspectionsOf(readNotes(row.findings))
  const isPlain = row.steps === null && attempts > 0
  const timed = [
    ...requests.map(requestEntry),
    ...tools.map(toolEntry),
    ...firstByteMs === null ? [] : [entry('first_byte', firstByteMs, { model, provider })]
  ].toSorted((a, b) => (a.after_ms ?? 0) - (b.after_ms ?? 0))
  return [
    entry('received', 0),
    ...checkedMs === undefined ? [] : [entry('auth', checkedMs)],
    ...skipped.map(route => entry('route_skipped', null, route)),
    ...limit === undefined ? [] : [entry('refused', null, { reason: limit })],
    ...inspections.filter(({ point }) => point === 'request').map(inspectionEntry),
    ...waitEntry(checkedMs, requests[0]),
    ...isPlain ? [entry('attempt', null, { model, provider })] : [],
    ...timed,
    ...inspections.filter(({ point }) => point !== 'request').map(inspectionEntry),
    entry('end', durationMs, { model, provider, reason: errorCode })
  ]
}

const nothing = {
  after_ms: null,
  duration_ms: null,
  model: null,
  provider: null,
  reason: null,
  status: null,
  server: null,
  stage: null,
  tool: null
}

function entry (event: string, afterMs: number | null, facts: Partial<TimelineEntry> = {}): TimelineEntry {
  return { ...nothing, ...facts, event, after_ms: afterMs }
}

/** The time of a guard's inspection is not recorded: it is listed before the first attempt, or at the end. */
function inspectionEntry ({ stage, point, tookMs, findings }: GuardInspection): TimelineEntry {
  const deeds = findings.map(({ action, count }) => `${action} ${count}`).join(', ')
  return entry('stage', null, {
    stage,
    duration_ms: Math.round(tookMs * 100) / 100,
    reason: deeds === '' ? point : `${point}: ${deeds}`
  })
}

/** Shorter waits are not listed. */
const minWaitMs = 1

function waitEntry (checkedMs: number | undefined, first: AttemptStep | undefined): TimelineEntry[] {
  if (checkedMs === undefined || first === undefined) return []
  const waitMs = Math.round(10 * (first.at_ms - checkedMs)) / 10
  return waitMs < minWaitMs ? [] : [entry('wait', checkedMs, { duration_ms: waitMs })]
}

function requestEntry ({
  model,
  provider,
  at_ms: atMs,
  took_ms: tookMs,
  reason,
  status
}: AttemptStep): TimelineEntry {
  const facts = {
    duration_ms: tookMs ?? null,
    model,
    provider,
    reason: reason ?? null,
    status: status ?? null
  }
  return entry(reason === undefined ? 'attempt' : 'attempt_failed', atMs, facts)
}

function toolEntry ({ server, tool, at_ms: atMs, took_ms: tookMs, outcome }: ToolStep): TimelineEntry {
  return entry('tool_call', atMs, {
    duration_ms: tookMs,
    server,
    tool,
    reason: outcome === 'ok' ? null : outcome
  })
}
