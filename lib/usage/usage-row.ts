/**
 * The row of a call for the usage ledger: a short one once its request has been sent, the complete one at its
 * end.
 *
 * If this process is killed in between, the begun row shows that a provider was working on the call. Most
 * calls write one, so it is kept to 150 bytes; the complete row takes 640.
 */

import { byUnitColumn, type UnitColumn } from '../../schemas/billed-units.ts'
import { endpointsWhere } from '../../schemas/endpoints.ts'
import { rowId } from '../text/ids.ts'
import { unknownCaller } from '../core/call-attribution.ts'
import { cutName, type PricedModels } from '../core/record.ts'
import { amountOf, charactersPerToken, usageOfTokens, type UsageCost } from '../core/usage.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { emptyRow } from '../stores/usage-columns.ts'
import { printSteps } from './call-steps.ts'
import { printNotes } from './guard-notes.ts'
import { boundedInteger, chargeOf, interruptedCost } from './call-cost.ts'
import { costNanoUsd } from './cost.ts'
import type { Call } from '../core/call.ts'
import type { UsageRow } from '../stores/tables.ts'

/** The identity of a row; a later row with the same identity replaces it. */
export type RowIdentity = Pick<UsageRow, 'id' | 'at_ms'>

export interface BegunRow extends RowIdentity {
  readonly line: string
}

/** The values of a begun row, in order: part of the journal format. */
const begunColumns = [
  'id',
  'call_id',
  'at_ms',
  'key_id',
  'endpoint',
  'requested_model',
  'model',
  'provider',
  'streamed',
  'own_provider_key',
  'prompt_tokens',
  'cost_nano_usd'
] as const

const promptEndpoints: ReadonlySet<string> = new Set(endpointsWhere('billsPrompt'))
/** Bodies up to this size are assumed to be mostly text. */
const maxBytes = 64 * 1024

/**
 * Prints the begun row of a call that has no trace, no attribution and no cost so far, and whose prompt is
 * about as long as its body; `undefined` for other calls, which need a complete row.
 */
export function printBegunRow (
  { id: callId, record, receivedAtMs }: Call,
  models: PricedModels
): BegunRow | undefined {
  const {
    endpoint,
    request: { bodyBytes, requestedModel, isStreamed },
    caller: { keyId, usesOwnProviderKey },
    routing: { modelId, providerId },
    trace
  } = record
  if (
    keyId === undefined ||
    modelId === undefined ||
    bodyBytes > maxBytes ||
    !promptEndpoints.has(endpoint)
  ) {
    return undefined
  }
  if (trace !== undefined) return undefined // the full row carries it, for its span after a kill
  if (record.usage.judgeRequests !== undefined) return undefined // guards have already spent money
  const { tags, endUser, session, metadata, parties } = record.caller
  if ([tags, endUser, session, metadata, parties].some(value => value !== undefined)) return undefined
  const id = record.limits.rowId ?? rowId()
  const atMs = Math.round(steadyNow() - performance.now() + receivedAtMs)
  const tokens = Math.ceil(bodyBytes / charactersPerToken)
  const cost =
    usesOwnProviderKey === true
      ? 0
      : costNanoUsd(usageOfTokens(tokens, 0), models.find(modelId)?.price)
  const values = [
    id,
    callId,
    atMs,
    keyId,
    endpoint,
    cutOrNull(requestedModel),
    cutName(modelId),
    providerId ?? null,
    Number(isStreamed === true),
    Number(usesOwnProviderKey === true),
    tokens,
    interruptedCost(record, cost ?? null)
  ]
  return { id, at_ms: atMs, line: JSON.stringify(values) }
}

/** Returns all columns of a begun row: interrupted, with estimated usage. */
export function readBegunRow (values: readonly unknown[]): UsageRow {
  // in the order printed above
  const fields = Object.fromEntries(begunColumns.map((column, index) => [column, values[index]])) as Pick<
    UsageRow,
    (typeof begunColumns)[number]
  >
  return { ...emptyRow, ...fields }
}

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
    tags: caller.tags === undefined ? null : JSON.stringify(caller.tags),
    metadata: caller.metadata === undefined ? null : JSON.stringify(caller.metadata),
    parties: record.caller.parties === undefined ? null : JSON.stringify(record.caller.parties)
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
