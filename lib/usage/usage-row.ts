/** Makes a call's row for the usage ledger. */

import {
  byUnitColumn,
  nonTokenUnits,
  type BilledUnit,
  type UnitColumn
} from '../../schemas/billed-units.ts'
import { rowId } from '../text/ids.ts'
import { unknownCaller } from '../core/caller-facts.ts'
import type { CallRecord } from '../core/record.ts'
import { estimatedTurn, type JudgedRequest, type WastedRequest } from '../core/usage-facts.ts'
import { cutName } from '../core/cut-name.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { printSteps } from './call-steps.ts'
import { printNotes } from './guard-notes.ts'
import { costNanoUsd, maxUnitCostOf, unitCostOf } from './cost.ts'
import type { Call } from '../core/call.ts'
import type { ErrorCode } from '../core/errors.ts'
import {
  addUsage,
  amountOf,
  estimatedAnswer,
  maxCount,
  reportedBy,
  usageOfTokens,
  type EstimatedUnits,
  type Units,
  type Usage
} from '../core/usage.ts'
import type { Price } from '../core/model.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { UsageRow } from '../stores/tables.ts'

/** The highest accepted cost of a call: a million dollars. */
const maxNanoUsd = 1e15

/** The identity of a row; a later row with the same identity replaces it. */
export type RowIdentity = Pick<UsageRow, 'id' | 'at_ms'>

/** Endpoints that programs poll and that use nothing. */
const unrecorded: ReadonlySet<string> = new Set(['health', 'key'])

/**
 * Makes the row of a call; `undefined` for a call without a valid key, for `/health` probes and for keys that
 * ask about themselves. Uses the current prices of the models.
 *
 * @param recorded the journaled row that this one replaces. Default: none
 * @param outcome the outcome to store. Default: the record's
 */
export function usageRow (
  { id: callId, record, receivedAtMs }: Call, models: Pick<ModelRegistry, 'find'>, recorded?: RowIdentity,
  outcome: UsageRow['outcome'] = record.end.outcome ?? 'ok'
): UsageRow | undefined {
  const { caller: { keyId } } = record
  const caller = record.guards.awaitsInspection ? unknownCaller : record.caller
  if (keyId === undefined || unrecorded.has(record.endpoint)) return undefined
  const durationMs = performance.now() - receivedAtMs
  const answer = answerUsage(record)
  const beside =
    (record.usage.wasted ?? record.usage.judged) === undefined ? nothing : besideAnswer(record, models)
  const usage = addUsage(answer.usage, beside.usage)
  const cost = callCost(record, answer, models)
  const charged = chargedCost(record, cost.nanoUsd, beside.nanoUsd)
  const isOpenEnded = outcome === 'interrupted' || record.end.isAnswerAbandoned === true
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
    attempts: record.routing.attempts,
    turns: boundedInteger(record.tools.turns),
    estimated: Number(isEstimated(record, [answer, beside, cost], isOpenEnded)),
    image_size: cutOrNull(record.usage.units?.images?.size),
    image_quality: cutOrNull(record.usage.units?.images?.quality),
    cost_nano_usd: isOpenEnded ? interruptedCost(record, charged) : charged,
    wasted_tokens: beside.wastedTokens,
    wasted_nano_usd: beside.wastedNanoUsd,
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
  // Spreading it into the literal takes 1 µs more.
  return Object.assign(
    facts,
    byUnitColumn(({ name, perUnit }) =>
      boundedInteger((amountOf(name, usage, record.usage.units) ?? NaN) * perUnit))
  )
}

/** Returns true if part of the row is an estimate, or if its cost comes from the reservation. */
function isEstimated (
  { cost: { chargedNanoUsd, maxCostNanoUsd } }: CallRecord,
  parts: ReadonlyArray<{ readonly estimated: boolean }>,
  isOpenEnded: boolean
): boolean {
  return (
    parts.some(({ estimated }) => estimated) ||
    chargedNanoUsd !== undefined ||
    (isOpenEnded && maxCostNanoUsd !== undefined)
  )
}

function cutOrNull (name: string | undefined): string | null {
  return name === undefined ? null : cutName(name)
}

interface AnswerUsage {
  /** Total usage; absent if unknown. */
  readonly usage?: Usage
  /** The usage of each answer. Each is priced separately, because long prompts have higher prices. */
  readonly answers: readonly Usage[]
  readonly estimated: boolean
}

/**
 * Returns the usage that the provider reported. Falls back to an estimate if the answer broke off, the caller
 * left before the report, or the reported counts are impossible.
 */
function answerUsage (record: CallRecord): AnswerUsage {
  const {
    usage: { total: usage, isEstimated: usageEstimated = false, outputCharacters },
    request: { isDeferred }
  } = record
  const isPossible = usage !== undefined &&
    boundedInteger(usage.promptTokens) !== null && boundedInteger(usage.completionTokens) !== null
  if (isPossible) {
    // Use the total if it is estimated or an answer's usage is unknown.
    const { answers: reported } = record.usage
    const answers = reported.length < 2 ? [usage] : reported.map(answer => answer.usage)
    const turn = usageEstimated ? turnInFlight(record) : undefined
    return turn === undefined
      ? { usage, answers, estimated: usageEstimated }
      : { usage: addUsage(usage, turn) ?? usage, answers: [...answers, turn], estimated: true }
  }
  const isCounted = isBegun(record) && isDeferred !== true
  const promptTokens = isCounted ? record.usage.estimate?.countPrompt() : undefined
  if (promptTokens === undefined && outputCharacters === undefined) return { answers: [], estimated: false }
  const { usage: { reported = reportedBy(undefined) } } = record
  const guess = estimatedAnswer(reported, promptTokens ?? 0, outputCharacters ?? 0)
  return { usage: guess, answers: [guess], estimated: true }
}

/** Returns true if a provider may have started work, and may bill the call. */
function isBegun (record: CallRecord): boolean {
  const { routing: { chosen, attempts }, usage: { outputCharacters } } = record
  // An answer may start with something other than text, such as a tool name.
  return chosen !== undefined || outputCharacters !== undefined || (attempts > 0 && !hasFailed(record))
}

/** Returns the usage of a tool loop turn that was cut off, if a provider may have started it. */
function turnInFlight (record: CallRecord): Usage | undefined {
  const { usage: { openTurn, outputCharacters = 0, reported }, routing: { attempts } } = record
  if (openTurn === undefined || attempts === openTurn.attempts) return undefined
  const isBilled = outputCharacters > openTurn.outputCharacters || reported?.usage !== undefined
  return isBilled || !hasFailed(record)
    ? estimatedTurn(openTurn, record.usage)
    : undefined
}

/** Error codes of calls that the gateway ends while a provider is working. */
const givenUp: ReadonlySet<string | undefined> = new Set([
  'timeout', 'shutting_down'
] satisfies ErrorCode[])
/** Error codes of calls that a guard ends, possibly while a provider is working. */
const endedByGuard: ReadonlySet<string | undefined> = new Set([
  'content_refused', 'stage_unavailable'
] satisfies ErrorCode[])

/**
 * Returns true if the provider failed, as opposed to the gateway giving up while the provider was working.
 */
function hasFailed ({
  end: { outcome, errorCode },
  routing: { attempts, failedAttempts = [] }
}: CallRecord): boolean {
  if (outcome !== 'error') return false
  if (endedByGuard.has(errorCode)) return failedAttempts.length >= attempts
  return !givenUp.has(errorCode)
}

/** Usage and cost of a call in addition to its answer: failed requests, and requests of guards. */
interface BesideAnswer {
  readonly usage: Usage | undefined
  readonly estimated: boolean
  readonly nanoUsd: number
  /** Tokens of failed requests only; null if there are none. */
  readonly wastedTokens: number | null
  readonly wastedNanoUsd: number | null
}

const nothing: BesideAnswer = {
  usage: undefined, estimated: false, nanoUsd: 0, wastedTokens: null, wastedNanoUsd: null
}

function besideAnswer (record: CallRecord, models: Pick<ModelRegistry, 'find'>): BesideAnswer {
  const { usage: { judged = [] } } = record
  const wasted = (record.usage.wasted ?? []).map(request => wasteOf(request, record, models))
  const all = [...wasted, ...judged]
  const wastedNanoUsd = costOfWasted(record, models)
  return {
    usage: all.reduce<Usage | undefined>((sum, one) => addUsage(sum, one.usage), undefined),
    estimated: all.some(one => one.estimated),
    nanoUsd: wastedNanoUsd + costOfJudged(judged, models),
    wastedTokens: wasted.length === 0 ? null : tokensOfWasted(wasted),
    wastedNanoUsd: wasted.length === 0 ? null : boundedInteger(wastedNanoUsd, maxNanoUsd)
  }
}

interface Waste extends Cost {
  readonly usage: Usage | undefined
}

/** Returns the usage and cost of a failed request. */
function wasteOf (
  { modelId, usage }: WastedRequest,
  record: CallRecord,
  models: Pick<ModelRegistry, 'find'>
): Waste {
  const price = models.find(modelId)?.price
  const nanoUsd = usage === undefined ? undefined : costNanoUsd(usage, price)
  const units = record.usage.estimate?.estimateUnits()
  // For a model billed by units, the reported tokens have no price.
  if (usage !== undefined && (nanoUsd !== undefined || units === undefined)) {
    return { usage, nanoUsd, estimated: false }
  }
  if (units !== undefined) return { usage, nanoUsd: estimatedCost(units, price), estimated: true }
  const { estimate } = record.usage
  const guess = usageOfTokens(estimate?.countPrompt() ?? 0, estimate?.countAnswer() ?? 0)
  return { usage: guess, nanoUsd: costNanoUsd(guess, price), estimated: true }
}

function tokensOfWasted (wasted: readonly Waste[]): number | null {
  const tokens = wasted.reduce(
    (sum, { usage }) => sum + (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0),
    0
  )
  return boundedInteger(tokens)
}

/** Returns the cost of a call's failed requests so far, in billionths of a dollar. */
export function costOfWasted (record: CallRecord, models: Pick<ModelRegistry, 'find'>): number {
  const { usage: { wasted }, caller: { usesOwnProviderKey } } = record
  if (wasted === undefined || usesOwnProviderKey === true) return 0 // the provider bills the caller
  return wasted.reduce((sum, request) => sum + (wasteOf(request, record, models).nanoUsd ?? 0), 0)
}

/** Returns billionths of a dollar. Guards use the gateway's provider keys. */
export function costOfJudged (
  judged: readonly JudgedRequest[],
  models: Pick<ModelRegistry, 'find'>
): number {
  return judged.reduce(
    (sum, { modelId, usage }) => sum + (costNanoUsd(usage, models.find(modelId)?.price) ?? 0),
    0
  )
}

/**
 * Returns the cost for the row. A receipt has the amount charged at first; its answer has the difference,
 * which may be negative.
 */
function chargedCost (
  record: CallRecord,
  nanoUsd: number | undefined,
  besideNanoUsd: number
): number | null {
  const { cost: { chargedNanoUsd, refundedNanoUsd = 0 } } = record
  if (chargedNanoUsd !== undefined) return boundedInteger(chargedNanoUsd, maxNanoUsd)
  const cost = boundedInteger(nanoUsd, maxNanoUsd)
  if (cost === null && besideNanoUsd === 0 && refundedNanoUsd === 0) return null
  return Math.min((cost ?? 0) + besideNanoUsd, maxNanoUsd) - refundedNanoUsd
}

/**
 * Returns the cost of a call whose process exited or whose answer was abandoned. Under a strict budget it is
 * the whole reservation, because the provider may go on and bill that much; otherwise the known cost.
 */
export function interruptedCost (
  { cost: { maxCostNanoUsd } }: Pick<CallRecord, 'cost'>,
  known: number | null
): number | null {
  return maxCostNanoUsd === undefined ? known : Math.max(known ?? 0, maxCostNanoUsd)
}

interface Cost {
  /** Absent if the model has no known price. */
  readonly nanoUsd?: number | undefined
  readonly estimated: boolean
}

/**
 * Returns the cost of a call: from reported tokens, else from other units, else from an estimate. It is 0 if
 * no provider was called, if the caller pays the provider, and for free models.
 */
function callCost (
  record: CallRecord,
  { answers, estimated }: AnswerUsage,
  models: Pick<ModelRegistry, 'find'>
): Cost {
  const {
    routing: { attempts, modelId },
    caller: { usesOwnProviderKey },
    end: { outcome },
    request: { isDeferred }
  } = record
  const price = modelId === undefined ? undefined : models.find(modelId)?.price
  const free =
    usesOwnProviderKey === true ||
    isDeferred === true ||
    attempts === 0 ||
    (price?.input === 0 && price.output === 0)
  if (free) return { nanoUsd: 0, estimated: false }
  const reported = answers.length === 0 || estimated ? undefined : answersCost(answers, price)
  if (reported !== undefined) return { nanoUsd: reported, estimated: false }
  const units = unitsOf(record)
  const unitCost = unitCostOf(units, price)
  if (unitCost !== undefined && price !== undefined) {
    return { nanoUsd: unitCost, estimated: unitCost !== maxUnitCostOf(units, price) }
  }
  const guess =
    price !== undefined && isBegun(record)
      ? estimatedCost(record.usage.estimate?.estimateUnits(), price)
      : undefined
  if (guess !== undefined) return { nanoUsd: guess, estimated: true }
  if (answers.length > 0) return { nanoUsd: answersCost(answers, price), estimated }
  return { nanoUsd: outcome === 'error' ? 0 : undefined, estimated: false }
}

function estimatedCost (units: EstimatedUnits | undefined, price: Price | undefined): number | undefined {
  if (units === undefined) return undefined
  return (
    unitCostOf(units, price) ??
    costNanoUsd(usageOfTokens(units.promptTokens, units.completionTokens), price)
  )
}

/** Sums the costs of answers; `undefined` if any is unknown. */
function answersCost (answers: readonly Usage[], price: Price | undefined): number | undefined {
  let sum = 0
  for (const answer of answers) {
    const cost = costNanoUsd(answer, price)
    if (cost === undefined) return undefined
    sum += cost
  }
  return sum
}

/**
 * Returns the usage in units other than tokens. Leaves out counts that are out of range, and everything if no
 * provider can have started.
 */
function unitsOf (record: CallRecord): Units {
  const { images, ...counts } = record.usage.units ?? {}
  const possible = Object.entries(counts).filter(([name, count]) => {
    const { ofRequest }: BilledUnit = nonTokenUnits[name as keyof typeof counts] // keys of counts
    return boundedInteger(count) !== null && (ofRequest !== true || isBegun(record))
  })
  return { ...images !== undefined && { images }, ...Object.fromEntries(possible) }
}

/**
 * Rounds a provider's count, which may be any number; `null` if out of range. A single huge count would make
 * sums unreadable, because the store reads only safe integers.
 */
function boundedInteger (count = NaN, max = maxCount): number | null {
  const number = Math.round(count)
  return number >= 0 && number <= max ? number : null
}
