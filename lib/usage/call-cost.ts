/**
 * What a call used and what it is charged: its answer, requests whose answers were not used, and requests
 * of guards; reported, or estimated where the provider reported nothing. Prices are applied in `usage/cost`.
 */

import { nonTokenUnits, type BilledUnit } from '../../schemas/billed-units.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { Price } from '../core/model.ts'
import type { CallRecord, PricedModels } from '../core/record.ts'
import { estimatedTurn, type JudgeRequest, type PartShare, type WastedRequest } from '../core/usage-facts.ts'
import {
  addUsage,
  estimatedRequests,
  maxCount,
  reportedBy,
  sumOfUsage,
  usageOfTokens,
  type EstimatedUnits,
  type Units,
  type Usage
} from '../core/usage.ts'
import { costNanoUsd, maxUnitCostOf, unitCostOf } from './cost.ts'

/** The highest accepted cost of a call: a million dollars. */
const maxNanoUsd = 1e15

/** Usage and cost of a call, as its row has them. Costs are in billionths of a dollar. */
export interface Charge {
  /** Of the answer and of everything besides it; absent if unknown. */
  readonly usage: Usage | undefined
  /** `null` if unknown. Negative for a fetched answer that costs less than its receipt. */
  readonly nanoUsd: number | null
  /** True if part of it is an estimate, or if the cost comes from the reservation. */
  readonly isEstimated: boolean
  /** Tokens of requests whose answers were not used; `null` if there are none. */
  readonly wastedTokens: number | null
  readonly wastedNanoUsd: number | null
}

/**
 * Returns what a call is charged by the prices of `models`.
 *
 * @param isOpenEnded true if the process exited or the answer was cut off: the provider may go on
 */
export function chargeOf (
  record: CallRecord,
  models: PricedModels,
  isOpenEnded: boolean
): Charge {
  const { cost: { chargedNanoUsd, maxCostNanoUsd } } = record
  const answer = answerUsage(record)
  const extra = extraUsage(record, models)
  const cost = callCost(record, answer, models)
  const charged = chargedCost(record, cost.nanoUsd, extra.nanoUsd)
  return {
    usage: addUsage(answer.usage, extra.usage),
    nanoUsd: isOpenEnded ? interruptedCost(record, charged) : charged,
    isEstimated:
      answer.isEstimated ||
      extra.isEstimated ||
      cost.isEstimated ||
      chargedNanoUsd !== undefined ||
      (isOpenEnded && maxCostNanoUsd !== undefined),
    wastedTokens: extra.wastedTokens,
    wastedNanoUsd: extra.wastedNanoUsd
  }
}

interface AnswerUsage {
  /** Total usage; absent if unknown. */
  readonly usage?: Usage
  /** The usage of each request. Each is priced separately, because long prompts have higher prices. */
  readonly answers: readonly Usage[]
  readonly isEstimated: boolean
}

/**
 * Returns the usage that the provider reported. Falls back to an estimate if the answer broke off, the caller
 * left before the report, or the reported counts are impossible.
 */
function answerUsage (record: CallRecord): AnswerUsage {
  const {
    usage: { total: usage, isEstimated: isUsageEstimated = false, outputCharacters },
    request: { isDeferred }
  } = record
  const isPossible = usage !== undefined &&
    boundedInteger(usage.promptTokens) !== null && boundedInteger(usage.completionTokens) !== null
  if (isPossible) {
    // Use the total if it is estimated or an answer's usage is unknown.
    const { answers: reported } = record.usage
    const isTotal = reported.length < 2 && reported[0]?.requests === undefined
    const answers = isTotal ? [usage] : reported.flatMap(answer => answer.requests ?? answer.usage)
    const turn = isUsageEstimated ? turnInFlight(record) : undefined
    return turn === undefined
      ? { usage, answers, isEstimated: isUsageEstimated }
      : {
          usage: addUsage(usage, sumOfUsage(turn)) ?? usage,
          answers: [...answers, ...turn],
          isEstimated: true
        }
  }
  const isCounted = isBegun(record) && isDeferred !== true
  const promptTokens = isCounted ? record.usage.estimate?.countPrompt() : undefined
  if (promptTokens === undefined && outputCharacters === undefined) return { answers: [], isEstimated: false }
  const { usage: { reported = reportedBy(undefined) } } = record
  const answers = estimatedRequests(reported, promptTokens ?? 0, outputCharacters ?? 0)
  return { usage: sumOfUsage(answers), answers, isEstimated: true }
}

/** Returns true if a provider may have started work, and may bill the call. */
function isBegun (record: CallRecord): boolean {
  const { routing: { chosen, requestCount }, usage: { outputCharacters } } = record
  // An answer may start with something other than text, such as a tool name.
  return chosen !== undefined || outputCharacters !== undefined || (requestCount > 0 && mayBeAtWork(record))
}

/** Returns the usage, by request, of a tool loop turn that was cut off, if a provider may have started it. */
function turnInFlight (record: CallRecord): readonly Usage[] | undefined {
  const { usage: { openTurn, outputCharacters = 0, reported }, routing: { requestCount } } = record
  if (openTurn === undefined || requestCount === openTurn.requestCount) return undefined
  const hasReport = reported !== undefined && reported.requests.length > 0
  const isBilled = outputCharacters > openTurn.outputCharacters || hasReport
  return isBilled || mayBeAtWork(record, openTurn.attemptsAtWork)
    ? estimatedTurn(openTurn, record.usage)
    : undefined
}

/**
 * Error codes of calls that the gateway or a guard ends, possibly while a provider is working: a call without
 * a waiting caller ends when its key is revoked or expires.
 */
const endedByGateway: ReadonlySet<string | undefined> = new Set([
  'timeout', 'shutting_down', 'content_refused', 'stage_unavailable', 'invalid_api_key'
] satisfies ErrorCode[])

/**
 * Returns true if a provider may still have been at work when the call ended.
 *
 * @param before attempts that had not failed before the part of the call in question. Default: 0
 */
function mayBeAtWork (
  { end: { outcome, errorCode }, routing: { attemptsAtWork } }: CallRecord,
  before: number = 0
): boolean {
  return attemptsAtWork > before && (outcome !== 'error' || endedByGateway.has(errorCode))
}

/**
 * Usage and cost of a call in addition to its answer: requests whose answers were not used, and requests of
 * guards.
 */
interface ExtraUsage {
  readonly usage: Usage | undefined
  readonly isEstimated: boolean
  readonly nanoUsd: number
  readonly wastedTokens: number | null
  readonly wastedNanoUsd: number | null
}

const nothing: ExtraUsage = {
  usage: undefined, isEstimated: false, nanoUsd: 0, wastedTokens: null, wastedNanoUsd: null
}

function extraUsage (record: CallRecord, models: PricedModels): ExtraUsage {
  const { usage: { judgeRequests = [] } } = record
  const wastes = wastesOf(record, models)
  const all = [...wastes, ...judgeRequests]
  if (all.length === 0) return nothing
  const wastedNanoUsd = chargedFor(wastes, record)
  return {
    usage: all.reduce<Usage | undefined>((sum, one) => addUsage(sum, one.usage), undefined),
    isEstimated: all.some(one => one.isEstimated),
    nanoUsd: wastedNanoUsd + costOfJudged(judgeRequests, models),
    wastedTokens: wastes.length === 0 ? null : tokensOfWasted(wastes),
    wastedNanoUsd: wastes.length === 0 ? null : boundedInteger(wastedNanoUsd, maxNanoUsd)
  }
}

interface WastedCost extends Cost {
  readonly usage: Usage | undefined
}

/** Returns the usage and cost of each request whose answer was not used. */
function wastesOf (record: CallRecord, models: PricedModels): readonly WastedCost[] {
  return (record.usage.wasted ?? []).map(request => wasteOf(request, record, models))
}

/** Returns the usage and cost of a request whose answer was not used. */
function wasteOf (
  { modelId, usage, share, countPrompt }: WastedRequest,
  record: CallRecord,
  models: PricedModels
): WastedCost {
  const price = models.find(modelId)?.price
  const nanoUsd = usage === undefined ? undefined : costNanoUsd(usage, price)
  const units = partOfUnits(record.usage.estimate?.estimateUnits(), share)
  // For a model billed by units, the reported tokens have no price.
  if (usage !== undefined && (nanoUsd !== undefined || units === undefined)) {
    return { usage, nanoUsd, isEstimated: false }
  }
  if (units !== undefined) return { usage, nanoUsd: estimatedCost(units, price), isEstimated: true }
  const { estimate } = record.usage
  const promptTokens = (countPrompt?.() ?? estimate?.countPrompt() ?? 0) * (share?.prompt ?? 1)
  const guess = usageOfTokens(Math.ceil(promptTokens), estimate?.countAnswer(share?.answer) ?? 0)
  return { usage: guess, nanoUsd: costNanoUsd(guess, price), isEstimated: true }
}

function partOfUnits (
  units: EstimatedUnits | undefined, share: PartShare | undefined
): EstimatedUnits | undefined {
  if (units === undefined || share === undefined) return units
  const { images, promptTokens, completionTokens } = units
  return {
    ...units,
    images: images && { ...images, count: Math.ceil(images.count * share.images) },
    promptTokens: Math.ceil(promptTokens * share.prompt),
    completionTokens: Math.ceil(completionTokens * share.answer)
  }
}

function tokensOfWasted (wasted: readonly WastedCost[]): number | null {
  const tokens = wasted.reduce(
    (sum, { usage }) => sum + (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0),
    0
  )
  return boundedInteger(tokens)
}

/** Returns the cost so far of a call's requests whose answers were not used, in billionths of a dollar. */
export function costOfWasted (record: CallRecord, models: PricedModels): number {
  return chargedFor(wastesOf(record, models), record)
}

function chargedFor (wastes: readonly WastedCost[], { caller: { usesOwnProviderKey } }: CallRecord): number {
  if (usesOwnProviderKey === true) return 0 // the provider bills the caller
  return wastes.reduce((sum, { nanoUsd }) => sum + (nanoUsd ?? 0), 0)
}

/** Returns billionths of a dollar. Guards use the gateway's provider keys. */
export function costOfJudged (
  judged: readonly JudgeRequest[],
  models: PricedModels
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
  extraNanoUsd: number
): number | null {
  const { cost: { chargedNanoUsd, refundedNanoUsd = 0, paidNanoUsd } } = record
  if (chargedNanoUsd !== undefined) return boundedInteger(chargedNanoUsd, maxNanoUsd)
  const cost = paidNanoUsd !== undefined ? 0 : boundedInteger(nanoUsd, maxNanoUsd)
  if (cost === null && extraNanoUsd === 0 && refundedNanoUsd === 0) return null
  return Math.min((cost ?? 0) + extraNanoUsd, maxNanoUsd) - refundedNanoUsd
}

/**
 * Returns the cost of a call whose process exited or whose answer was cut off. Under a strict budget it is
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
  readonly isEstimated: boolean
}

/**
 * Returns the cost of a call: from reported tokens, else from other units, else from an estimate. It is 0 if
 * no provider was called, if the caller pays the provider, and for free models.
 */
function callCost (
  record: CallRecord,
  { answers, isEstimated }: AnswerUsage,
  models: PricedModels
): Cost {
  const {
    routing: { requestCount, modelId },
    caller: { usesOwnProviderKey },
    end: { outcome },
    request: { isDeferred }
  } = record
  const price = modelId === undefined ? undefined : models.find(modelId)?.price
  const costsNothing =
    usesOwnProviderKey === true ||
    isDeferred === true ||
    requestCount === 0 ||
    (price !== undefined && isFree(price))
  if (costsNothing) return { nanoUsd: 0, isEstimated: false }
  const reported = answers.length === 0 || isEstimated ? undefined : answersCost(answers, price)
  if (reported !== undefined) return { nanoUsd: reported, isEstimated: false }
  const units = unitsOf(record)
  const unitCost = unitCostOf(units, price)
  if (unitCost !== undefined && price !== undefined) {
    return { nanoUsd: unitCost, isEstimated: unitCost !== maxUnitCostOf(units, price) }
  }
  const guess =
    price !== undefined && isBegun(record)
      ? estimatedCost(record.usage.estimate?.estimateUnits(), price)
      : undefined
  if (guess !== undefined) return { nanoUsd: guess, isEstimated: true }
  if (answers.length > 0) return { nanoUsd: answersCost(answers, price), isEstimated }
  return { nanoUsd: outcome === 'error' ? 0 : undefined, isEstimated: false }
}

/** Returns true for a model whose tokens are free, and that has no other price above 0. */
function isFree (price: Price): boolean {
  const { input, output, longPrompt, images = [] } = price
  return input === 0 && output === 0 && [price, { ...longPrompt, abovePromptTokens: 0 }, ...images].every(
    prices => Object.values(prices).every(usd => typeof usd !== 'number' || usd === 0)
  )
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
export function boundedInteger (count = NaN, max = maxCount): number | null {
  const number = Math.round(count)
  return number >= 0 && number <= max ? number : null
}
