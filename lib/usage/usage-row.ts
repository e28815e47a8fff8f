/**
 * The row of a call for the usage ledger. It is journaled as interrupted once the request has been sent: if
 * this process is killed, that row shows that a provider was working on the call.
 */

import { byUnitColumn, type UnitColumn } from '../../schemas/billed-units.ts'
import { rowId } from '../text/ids.ts'
import { unknownCaller } from '../core/call-attribution.ts'
import { cutName, type PricedModels } from '../core/record.ts'
import { amountOf, usageOfTokens, type UsageCost } from '../core/usage.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { printSteps } from './call-steps.ts'
import { printNotes } from './guard-notes.ts'
import { boundedInteger, chargeOf } from './call-cost.ts'
import { jsonColumn } from '../stores/json-column.ts'
import type { Call } from '../core/call.ts'
import type { UsageRow } from '../stores/tables.ts'

/** The identity of a row; a later row with the same identity replaces it. */
export type RowIdentity = Pick<UsageRow, 'id' | 'at_ms'>

/** Endpoints that programs poll and that use nothing. */
const unrecorded: ReadonlySet<string> = new Set(['health', 'key'])

/**
 * Makes the row of a call; `undefined` for a call without a valid key, for `/health` probes and for keys that
 * ask about themselves. Prices are those of `models`.
 *
 * @param recorded the journaled row that this one replaces. Default: none
 * @param outcome the outcome to store. Default: the record's
 */
export function usageRow (
  { id: callId, record, receivedAtMs }: Call, models: PricedModels, recorded?: RowIdentity,
  outcome: UsageRow['outcome'] = record.end.outcome ?? 'ok'
): UsageRow | undefined {
  const { caller: { keyId } } = record
  const caller = record.guards.awaitsInspection ? unknownCaller : record.caller
  if (keyId === undefined || unrecorded.has(record.endpoint)) return undefined
  const durationMs = performance.now() - receivedAtMs
  const isOpenEnded = outcome === 'interrupted' || record.end.isAnswerCutOff === true
  const charge = chargeOf(record, models, isOpenEnded)
  const facts: Omit<UsageRow, UnitColumn> = {
    id: recorded?.id ?? record.limits.rowId ?? rowId(),
    call_id: callId,
    at_ms: recorded?.at_ms ?? Math.round(steadyNow() - durationMs),
    key_id: keyId,
    endpoint: record.endpoint,
    requested_model: cutOrNull(record.request.requestedModel),
    model: cutOrNull(record.routing.modelId),
    provider: cutOrNull(record.routing.providerId),
    outcome,
    status: boundedInteger(record.end.status),
    error_code: record.end.errorCode ?? null,
    streamed: Number(record.request.isStreamed === true),
    attempts: record.routing.requestCount,
    turns: boundedInteger(record.tools.turns),
    estimated: Number(charge.isEstimated),
    image_size: cutOrNull(record.usage.units?.images?.size),
    image_quality: cutOrNull(record.usage.units?.images?.quality),
    cost_nano_usd: charge.nanoUsd,
    wasted_tokens: charge.wastedTokens,
    wasted_nano_usd: charge.wastedNanoUsd,
    own_provider_key: Number(record.caller.usesOwnProviderKey === true),
    duration_ms: Math.round(durationMs),
    first_byte_ms: boundedInteger(record.times.firstByteMs),
    steps: printSteps(record, receivedAtMs),
    cached: record.routing.cache === 'hit' ? 1 : null,
    findings: record.guards.findings === undefined ? null : printNotes(record.guards.findings),
    end_user: caller.endUser ?? null,
    session: caller.session ?? null,
    tags: jsonColumn(caller.tags),
    metadata: jsonColumn(caller.metadata),
    parties: jsonColumn(record.caller.parties)
  }
  return Object.assign(
    facts,
    byUnitColumn(({ name, perUnit }) =>
      boundedInteger((amountOf(name, charge.usage, record.usage.units) ?? NaN) * perUnit))
  )
}

/**
 * Returns the cost of a call so far, as its usage row would state it; `undefined` for a call without a
 * record.
 */
export function usageCostOf (call: Call, models: PricedModels): UsageCost | undefined {
  const row = usageRow(call, models)
  if (row === undefined) return undefined
  return {
    usd: row.cost_nano_usd === null ? null : row.cost_nano_usd / 1e9,
    isEstimated: row.estimated === 1,
    usage: usageOfTokens(row.prompt_tokens ?? 0, row.completion_tokens ?? 0)
  }
}

function cutOrNull (name: string | undefined): string | null {
  return name === undefined ? null : cutName(name)
}
