/** Computes how long an answer the reservation of a call still pays for. */

import { estimateChat, type EstimateRequest } from './estimate.ts'
import { noMedia } from './media-tokens.ts'
import { maxAnswerCostOf, maxCostOf, outputLimitOf } from './prices.ts'
import { requestBytes } from '../core/record.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ModelRegistry } from '../models/model-registry.ts'

/** Tokens of each choice of the next answer. */
export interface AffordableAnswer {
  /**
   * The tokens paid for after the prompt, its searches and the turns before; negative when not even those
   * are.
   */
  readonly affordable: number
  /** The tokens the request or its models allow. */
  readonly bound: number
  /** Less is not worth requesting. */
  readonly min: number
}

const million = 1_000_000

/**
 * Returns what a call of a key with a budget and `strict` limits can still afford; `undefined` for every
 * other call.
 */
export function affordableTokens<R extends ChatInput> (
  { record, request, routes }: Pick<RoutedCall<R>, 'record' | 'request' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  estimate: EstimateRequest<R> = estimateChat
): AffordableAnswer | undefined {
  if (record.maxCostNanoUsd === undefined) return undefined
  const {
    maxPrompt = 0,
    maxCompletion,
    minCompletion = 1,
    choices = 1,
    writesCache,
    searches = 0,
    media: counts = noMedia
  } = estimate(request, routes)
  const { promptTokens = 0, completionTokens = 0, searches: searched = 0 } = record.usage ?? {}
  const media = { counts, bodyBytes: requestBytes(record), prompts: choices }
  const prompt = promptTokens + maxPrompt * choices
  const amounts = { prompt, media, completion: completionTokens, writesCache, searches: searched + searches }
  const left = record.maxCostNanoUsd - maxCostOf(routes, models, amounts)
  // One token may cost less than a billionth of a dollar.
  const perMillion = maxAnswerCostOf(routes, models, { prompt, media })
  return {
    affordable: perMillion === 0 ? Infinity : Math.floor(left * million / perMillion / choices),
    bound: maxCompletion ?? Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId)))),
    min: minCompletion
  }
}
