/** Computes what the reservation of a call in a strict budget can still pay for. */

import { GatewayError } from '../core/errors.ts'
import { requestBytes, type CallRecord } from '../core/record.ts'
import { costOfJudged, costOfWasted } from '../usage/call-cost.ts'
import { estimateChat } from './estimate-chat.ts'
import type { EstimateRequest } from './estimate.ts'
import { maxAnswerCostOf, maxCostOf, outputLimitOf, type Amounts } from './max-cost.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { ModelRegistry } from '../models/model-registry.ts'

/** Tokens for each choice of the next answer. */
export interface AffordableAnswer {
  /** Tokens affordable after the prompt, its searches and earlier turns; negative if not even those are. */
  readonly affordable: number
  /** The limit of the request or its models. */
  readonly bound: number
  /** A shorter answer is not worth requesting. */
  readonly min: number
}

const million = 1_000_000

/**
 * Returns what a call under a strict budget can still afford; `undefined` for other calls, and if the
 * caller pays the provider.
 */
export function affordableTokens<R extends ChatInput> (
  { record, request, routes }: Pick<RoutedCall<R>, 'record' | 'request' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  estimate: EstimateRequest<R> = estimateChat
): AffordableAnswer | undefined {
  if (record.cost.maxCostNanoUsd === undefined || record.caller.usesOwnProviderKey === true) return undefined
  const {
    prompt: { max, media: counts, writesCache },
    answer: { limit, min, choices, searches }
  } = estimate(request, routes)
  const { promptTokens = 0, completionTokens = 0, searches: searched = 0 } = record.usage.total ?? {}
  const media = { counts, bodyBytes: requestBytes(record.request), prompts: choices }
  const prompt = promptTokens + max * choices
  const amounts = { prompt, media, completion: completionTokens, writesCache, searches: searched + searches }
  const left = record.cost.maxCostNanoUsd - maxExtraCost(record, models) - maxCostOf(routes, models, amounts)
  // One token may cost less than a billionth of a dollar.
  const perMillion = maxAnswerCostOf(routes, models, { prompt, media })
  return {
    affordable: perMillion === 0 ? Infinity : Math.floor(left * million / perMillion / choices),
    bound: limit ?? Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId)))),
    min
  }
}

/**
 * Checks that a call's reservation covers a guard's request: tool results and JSON texts may be of any
 * length.
 *
 * @param amounts the most that the request may use
 * @throws GatewayError `insufficient_quota` if it does not, under a strict budget
 */
export function checkInspectionAffordable (
  { record, routes }: Pick<RoutedCall<unknown>, 'record' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  route: Route,
  amounts: Pick<Amounts, 'prompt' | 'completion'>
): void {
  if (record.cost.maxCostNanoUsd === undefined) return
  const { promptTokens = 0, completionTokens = 0, searches } = record.usage.total ?? {}
  const answered = { prompt: promptTokens, completion: completionTokens, searches }
  const used =
    maxExtraCost(record, models) +
    (record.caller.usesOwnProviderKey === true ? 0 : maxCostOf(routes, models, answered))
  if (used + maxCostOf([route], models, amounts) <= record.cost.maxCostNanoUsd) return
  throw new GatewayError('insufficient_quota', {
    message: 'Too little is left of a budget of this call for a guard to inspect it. Send a shorter request.'
  })
}

/**
 * Returns the highest cost of a call so far without its answers: failed requests, and those of guards. A
 * guard may still be inspecting the request, so the full answer of an open inspection is included.
 */
function maxExtraCost (record: CallRecord, models: Pick<ModelRegistry, 'find'>): number {
  const { judgeRequests = [] } = record.usage
  const inspections = judgeRequests.map(one => ({ ...one, usage: one.maxUsage ?? one.usage }))
  return costOfWasted(record, models) + costOfJudged(inspections, models)
}
