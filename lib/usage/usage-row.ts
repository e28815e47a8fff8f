/** Makes a call's row for the usage ledger. */

import {
  byUnitColumn,
  nonTokenUnits,
  type BilledUnit,
  type UnitColumn
} from '../../schemas/billed-units.ts'
import { rowId } from '../text/ids.ts'
import {
  cutName,
  estimatedTurn,
  unknownCaller,
  type CallRecord,
  type JudgedRequest,
  type WastedRequest
} from '../core/record.ts'
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

/** The most that a call can cost: a million dollars. */
const maxNanoUsd = 1e15

/** The identity of a row: of those with the same one, the last counts. */
export type RowIdentity = Pick<UsageRow, 'id' | 'at_ms'>

/** Endpoints that programs poll, and that use nothing. */
const unrecorded: ReadonlySet<string> = new Set(['health', 'key'])

/**
 * Makes the row of a call; `undefined` for a call without a valid key, for probes of `/health` and for keys
 * that ask about themselves.
 * Costs are computed with the present prices of the models.
 *
 * @param recorded the row in the journal that this one replaces. Default: none
 * @param outcome the outcome it is stored with. Default: its own
 */
export function usageRow (
  { id: callId, record, receivedAtMs }: Call, models: Pick<ModelRegistry, 'find'>, recorded?: RowIdentity,
  outcome: UsageRow['outcome'] = record.outcome ?? 'ok'
): UsageRow | undefined {
  const { keyId } = record
  const caller = record.awaitsInspection ? unknownCaller : record
  if (keyId === undefined || unrecorded.has(record.endpoint)) return undefined
  const durationMs = performance.now() - receivedAtMs
  const answer = answerUsage(record)
  const beside =
    record.wasted === undefined && record.judged === undefined ? nothing : besideAnswer(record, models)
  const usage = addUsage(answer.usage, beside.usage)
  const cost = callCost(record, answer, models)
  const charged = chargedCost(record, cost.nanoUsd, beside.nanoUsd)
  const isOpenEnded = outcome === 'interrupted' || record.answerGivenUp === true
  const facts: Omit<UsageRow, UnitColumn> = {
    id: recorded?.id ?? record.rowId ?? rowId(),
    call_id: callId,
    at_ms: recorded?.at_ms ?? Math.round(steadyNow() - durationMs),
    key_id: keyId,
    endpoint: record.endpoint,
    requested_model: cutOrNull(record.requestedModel),
    model: cutOrNull(record.modelId),
    provider: cutOrNull(record.providerId),
    outcome,
    status: boundedInteger(record.status),
    error_code: record.errorCode ?? null,
    streamed: Number(record.streamed === true),
    attempts: record.attempts,
    turns: boundedInteger(record.turns),
    estimated: Number(isEstimated(record, [answer, beside, cost], isOpenEnded)),
    image_size: cutOrNull(record.units?.images?.size),
    image_quality: cutOrNull(record.units?.images?.quality),
    cost_nano_usd: isOpenEnded ? interruptedCost(record, charged) : charged,
    wasted_tokens: beside.wastedTokens,
    wasted_nano_usd: beside.wastedNanoUsd,
    own_provider_key: Number(record.callerProviderKey === true),
    duration_ms: Math.round(durationMs),
    first_byte_ms: boundedInteger(record.firstByteMs),
    steps: printSteps(record, receivedAtMs),
    cached: record.cache === 'hit' ? 1 : null,
    findings: record.findings === undefined ? null : printNotes(record.findings),
    end_user: caller.endUser ?? null,
    session: caller.session ?? null,
    tags: caller.tags === undefined ? null : JSON.stringify(caller.tags),
    metadata: caller.metadata === undefined ? null : JSON.stringify(caller.metadata),
    parties: record.parties === undefined ? null : JSON.stringify(record.parties)
  }
  // A spread in the literal takes 1 µs more.
  return Object.assign(
    facts,
    byUnitColumn(({ name, perUnit }) =>
      boundedInteger((amountOf(name, usage, record.units) ?? NaN) * perUnit))
  )
}

/** Returns true when a part of the row is an estimate, or its cost is set by what was reserved. */
function isEstimated (
  { chargedNanoUsd, maxCostNanoUsd }: CallRecord,
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
  /** All of it; absent where nothing is known. */
  readonly usage?: Usage
  /** The usage of each answer: each is priced by itself, since a long prompt costs more per token. */
  readonly answers: readonly Usage[]
  readonly estimated: boolean
}

/**
 * Returns the usage that the provider reported, or an estimate: where the answer broke off or the caller
 * left before the report came, and where the report is impossible.
 */
function answerUsage (record: CallRecord): AnswerUsage {
  const { usage, usageEstimated = false, outputCharacters, deferred } = record
  const isPossible = usage !== undefined &&
    boundedInteger(usage.promptTokens) !== null && boundedInteger(usage.completionTokens) !== null
  if (isPossible) {
    // All of it where it came another way, or nothing is known of an answer.
    const answers = record.answerUsages.length < 2 ? [usage] : record.answerUsages.map(answer => answer.usage)
    const turn = usageEstimated ? turnInFlight(record) : undefined
    return turn === undefined
      ? { usage, answers, estimated: usageEstimated }
      : { usage: addUsage(usage, turn) ?? usage, answers: [...answers, turn], estimated: true }
  }
  const promptTokens = isBegun(record) && deferred !== true ? record.estimate?.countPrompt() : undefined
  if (promptTokens === undefined && outputCharacters === undefined) return { answers: [], estimated: false }
  const { reported = reportedBy(undefined) } = record
  const guess = estimatedAnswer(reported, promptTokens ?? 0, outputCharacters ?? 0)
  return { usage: guess, answers: [guess], estimated: true }
}

/** Returns true when a provider may have begun to work, and so may bill the call. */
function isBegun (record: CallRecord): boolean {
  const { chosen, outputCharacters, attempts } = record
  // An answer may begin with something other than text, such as the name of a tool.
  return chosen !== undefined || outputCharacters !== undefined || (attempts > 0 && !hasFailed(record))
}

/** Returns the usage of a turn of a tool loop that was cut off, if a provider may have begun it. */
function turnInFlight (record: CallRecord): Usage | undefined {
  const { openTurn, attempts, outputCharacters = 0, reported } = record
  if (openTurn === undefined || attempts === openTurn.attempts) return undefined
  const isBilled = outputCharacters > openTurn.outputCharacters || reported?.usage !== undefined
  return isBilled || !hasFailed(record)
    ? estimatedTurn(openTurn, record)
    : undefined
}

/** Codes of calls that the gateway ends while a provider is at work. */
const givenUp: ReadonlySet<string | undefined> = new Set([
  'timeout', 'shutting_down'
] satisfies ErrorCode[])
/** Codes of calls that a stage ends, at times while a provider is at work. */
const endedByGuard: ReadonlySet<string | undefined> = new Set([
  'content_refused', 'stage_unavailable'
] satisfies ErrorCode[])

/**
 * Returns true when the provider failed, and not the gateway that gave the call up while the provider was at
 * work.
 */
function hasFailed ({ outcome, errorCode, attempts, failedAttempts = [] }: CallRecord): boolean {
  if (outcome !== 'error') return false
  if (endedByGuard.has(errorCode)) return failedAttempts.length >= attempts
  return !givenUp.has(errorCode)
}

/** What a call used and costs beside its answer: requests that were wasted, and those of stages. */
interface BesideAnswer {
  readonly usage: Usage | undefined
  readonly estimated: boolean
  readonly nanoUsd: number
  /** Of wasted requests alone; null where there are none. */
  readonly wastedTokens: number | null
  readonly wastedNanoUsd: number | null
}

const nothing: BesideAnswer = {
  usage: undefined, estimated: false, nanoUsd: 0, wastedTokens: null, wastedNanoUsd: null
}

function besideAnswer (record: CallRecord, models: Pick<ModelRegistry, 'find'>): BesideAnswer {
  const { judged = [] } = record
  const wasted = (record.wasted ?? []).map(request => wasteOf(request, record, models))
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

/** Returns what a wasted request used. */
function wasteOf (
  { modelId, usage }: WastedRequest,
  record: CallRecord,
  models: Pick<ModelRegistry, 'find'>
): Waste {
  const price = models.find(modelId)?.price
  const nanoUsd = usage === undefined ? undefined : costNanoUsd(usage, price)
  const units = record.estimate?.estimateUnits()
  // Of a model that is billed by units, the tokens that it reports have no price.
  if (usage !== undefined && (nanoUsd !== undefined || units === undefined)) {
    return { usage, nanoUsd, estimated: false }
  }
  if (units !== undefined) return { usage, nanoUsd: estimatedCost(units, price), estimated: true }
  const guess = usageOfTokens(record.estimate?.countPrompt() ?? 0, record.estimate?.countAnswer() ?? 0)
  return { usage: guess, nanoUsd: costNanoUsd(guess, price), estimated: true }
}

function tokensOfWasted (wasted: readonly Waste[]): number | null {
  const tokens = wasted.reduce(
    (sum, { usage }) => sum + (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0),
    0
  )
  return boundedInteger(tokens)
}

/** Returns what the wasted requests of a call cost so far, in billionths of a dollar. */
export function costOfWasted (record: CallRecord, models: Pick<ModelRegistry, 'find'>): number {
  const { wasted, callerProviderKey } = record
  if (wasted === undefined || callerProviderKey === true) return 0 // the provider bills the caller
  return wasted.reduce((sum, request) => sum + (wasteOf(request, record, models).nanoUsd ?? 0), 0)
}

/** Returns billionths of a dollar. Stages use the gateway's own keys. */
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
 * Returns the cost of the row: for a receipt the amount charged now, for its answer the difference, which may
 * be negative.
 */
function chargedCost (
  record: CallRecord,
  nanoUsd: number | undefined,
  besideNanoUsd: number
): number | null {
  const { chargedNanoUsd, refundedNanoUsd = 0 } = record
  if (chargedNanoUsd !== undefined) return boundedInteger(chargedNanoUsd, maxNanoUsd)
  const cost = boundedInteger(nanoUsd, maxNanoUsd)
  if (cost === null && besideNanoUsd === 0 && refundedNanoUsd === 0) return null
  return Math.min((cost ?? 0) + besideNanoUsd, maxNanoUsd) - refundedNanoUsd
}

/**
 * Returns the cost of a call whose process ended first, or whose answer was abandoned: under a strict budget
 * all that it had reserved, since the provider may go on and bill as much; otherwise what is known.
 */
export function interruptedCost (
  { maxCostNanoUsd }: Pick<CallRecord, 'maxCostNanoUsd'>,
  known: number | null
): number | null {
  return maxCostNanoUsd === undefined ? known : Math.max(known ?? 0, maxCostNanoUsd)
}

interface Cost {
  /** Absent where the model has no known price. */
  readonly nanoUsd?: number | undefined
  readonly estimated: boolean
}

/**
 * Returns what a call costs: by the tokens its provider reported, else by what else it used, else by an
 * estimate of either. That is 0 where no provider was called, where the caller pays the provider, and for
 * free models.
 */
function callCost (
  record: CallRecord,
  { answers, estimated }: AnswerUsage,
  models: Pick<ModelRegistry, 'find'>
): Cost {
  const { attempts, callerProviderKey, modelId, outcome, deferred } = record
  const price = modelId === undefined ? undefined : models.find(modelId)?.price
  const free =
    callerProviderKey === true ||
    deferred === true ||
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
      ? estimatedCost(record.estimate?.estimateUnits(), price)
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

/** Adds up the costs of answers; `undefined` where one of them is not known. */
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
 * Returns what a call used in place of tokens, without counts that are out of range and what no provider may
 * have begun.
 */
function unitsOf (record: CallRecord): Units {
  const { images, ...counts } = record.units ?? {}
  const possible = Object.entries(counts).filter(([name, count]) => {
    const { ofRequest }: BilledUnit = nonTokenUnits[name as keyof typeof counts] // its keys are those
    return boundedInteger(count) !== null && (ofRequest !== true || isBegun(record))
  })
  return { ...images !== undefined && { images }, ...Object.fromEntries(possible) }
}

/**
 * Rounds a provider's count, which may be anything; `null` when it is out of range. A single such count
 * would make sums unreadable: the store reads no sum beyond the safe integers.
 */
function boundedInteger (count = NaN, max = maxCount): number | null {
  const number = Math.round(count)
  return number >= 0 && number <= max ? number : null
}
