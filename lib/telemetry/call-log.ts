/** Logs one line per call, once its answer is written or cut off. */

import { candidatesOf, printAttempts } from '../core/explain-route.ts'
import { clientAddress } from '../net/client-address.ts'
import { unknownCaller } from '../core/call-attribution.ts'
import { hadChoiceOfRoutes, cutName, type CallRecord } from '../core/record.ts'
import { loggableError } from '../text/describe-error.ts'
import type { Call } from '../core/call.ts'
import { recordedUnits } from '../../schemas/billed-units.ts'
import { amountOf, charactersPerToken, type Units } from '../core/usage.ts'
import type { GuardFindings } from '../core/guard-findings.ts'
import type { ServerSettings } from '../core/settings.ts'
import type { UsageRow } from '../stores/tables.ts'
import { writeLine, type Log } from '../log/log.ts'

export type CallLogSettings = Pick<ServerSettings, 'logClient' | 'logKeyName' | 'trustProxy'>

/**
 * Logs client, key, endpoint, model, provider, outcome, timing and usage of a call; usage comes from its
 * usage row.
 *
 * @param settings whether to log client and key, and whether to trust `X-Forwarded-For`
 */
export function logCall (log: Log, call: Call, row: UsageRow | undefined, settings: CallLogSettings): void {
  const level = levelOf(call.record)
  if (!log.isLevelEnabled(level)) return
  const totalMs = performance.now() - call.receivedAtMs
  writeLine(log, level, JSON.stringify(fieldsOf(call, row, totalMs, settings)).slice(1, -1), 'call')
}

function fieldsOf (
  { id, record, headers }: Call,
  row: UsageRow | undefined,
  totalMs: number,
  { logClient, logKeyName, trustProxy }: CallLogSettings
): object {
  const caller = record.guards.awaitsInspection ? unknownCaller : record.caller
  const { requestedModel } = record.request
  return {
    id,
    client: logClient
      ? clientAddress(record.request.remoteAddress, headers['x-forwarded-for'], trustProxy) || undefined
      : undefined,
    key: record.caller.keyId,
    key_name: logKeyName ? record.caller.keyName : undefined,
    refused_key: record.caller.refusedKey,
    trace_id: record.trace?.traceId,
    span_id: record.trace?.spanId,
    endpoint: record.endpoint,
    request: record.request.requestLine,
    requested: requestedModel === undefined ? undefined : cutName(requestedModel),
    ignored: record.guards.awaitsInspection ? undefined : record.request.ignoredFields,
    tags: caller.tags,
    end_user: caller.endUser,
    session: caller.session,
    metadata: caller.metadata,
    model: record.routing.modelId === undefined ? undefined : cutName(record.routing.modelId),
    provider: record.routing.providerId,
    status: record.end.status,
    outcome: record.end.outcome,
    error: record.end.errorCode,
    cause: record.end.cause === undefined ? undefined : loggableError(record.end.cause),
    streamed: record.request.isStreamed,
    cache: record.routing.cache,
    attempts: record.routing.requestCount,
    hedges: record.routing.hedges,
    failed_attempts: record.routing.unusedRoutes && printAttempts(record.routing.unusedRoutes),
    candidates: hadChoiceOfRoutes(record.routing) ? candidatesOf(record) : undefined,
    findings: record.guards.findings && printFindings(record.guards.findings),
    exceeded_budgets: record.limits.exceededBudgets?.map(({ party, budget }) => `${party}: ${budget}`),
    budget_unread: record.limits.isSpendingUnknown,
    dry_run: record.request.isDryRun,
    upstream_id: record.routing.upstreamRequestId,
    total_ms: rounded(totalMs),
    first_byte_ms: rounded(record.times.firstByteMs),
    upstream_wait_ms: rounded(record.times.upstreamWaitMs),
    usage: row === undefined ? unrecordedUsage(record) : recordedUsage(row),
    ...record.usage.units && printUnits(record.usage.units)
  }
}

function levelOf ({ end: { outcome, errorCode, status = 0 } }: CallRecord): 'info' | 'warn' | 'error' {
  if (errorCode === 'internal_error') return 'error'
  return outcome === 'error' && (status >= 500 || status < 400) ? 'warn' : 'info'
}

function recordedUsage (row: UsageRow): Record<string, number | boolean> | undefined {
  const { prompt_tokens: prompt, completion_tokens: completion, estimated } = row
  if (prompt === null && completion === null) return undefined
  return {
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    total: (prompt ?? 0) + (completion ?? 0),
    ...estimated === 1 && { estimated: true }
  }
}

/** Returns the known tokens of a call without a row; estimates are marked. */
function unrecordedUsage ({
  usage: { total: usage, isEstimated: estimated, outputCharacters }
}: CallRecord): Record<string, number | boolean> | undefined {
  if (usage !== undefined) {
    const { promptTokens: prompt, completionTokens: completion, totalTokens: total } = usage
    return { prompt, completion, total, ...estimated === true && { estimated } }
  }
  return outputCharacters === undefined
    ? undefined
    : { completion: Math.ceil(outputCharacters / charactersPerToken), estimated: true }
}

function printFindings ({ found }: GuardFindings): readonly object[] | undefined {
  return found.length === 0
    ? undefined
    : found.map(({ guard, point, action, count, durationMs }) => ({
      stage: guard,
      point,
      action,
      count,
      duration_ms: rounded(durationMs)
    }))
}

function printUnits (units: Units): Record<string, number | undefined> {
  return Object.fromEntries(recordedUnits.map(({ name, log }) => [log, amountOf(name, undefined, units)]))
}

function rounded (ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 100) / 100
}
