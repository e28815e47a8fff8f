/** Computes what the reservation of a call still pays for: how long an answer, and which looks of stages. */

import { GatewayError } from '../core/errors.ts'
import { costOfJudged } from '../usage/usage-row.ts'
import { estimateChat, type EstimateRequest } from './estimate.ts'
import { noMedia } from './media-tokens.ts'
import { maxAnswerCostOf, maxCostOf, outputLimitOf, type Amounts } from './prices.ts'
import { requestBytes } from '../core/record.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Route } from '../core/route.ts'

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
 * other call, and where its caller pays the provider.
 */
export function affordableTokens<R extends ChatInput> (
  { record, request, routes }: Pick<RoutedCall<R>, 'record' | 'request' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  estimate: EstimateRequest<R> = estimateChat
): AffordableAnswer | undefined {
  if (record.maxCostNanoUsd === undefined || record.ownProviderKey === true) return undefined
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
  const judgedNanoUsd = costOfJudged(record.judged ?? [], models)
  const left = record.maxCostNanoUsd - judgedNanoUsd - maxCostOf(routes, models, amounts)
  // One token may cost less than a billionth of a dollar.
  const perMillion = maxAnswerCostOf(routes, models, { prompt, media })
  return {
    affordable: perMillion === 0 ? Infinity : Math.floor(left * million / perMillion / choices),
    bound: maxCompletion ?? Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId)))),
    min: minCompletion
  }
}

/**
 * Checks that the reservation of a call pays for a request of a stage: what tools return is of any length,
 * and so are texts in JSON.
 *
 * @param amounts the most that the request may use
 * @throws GatewayError `insufficient_quota` where it does not, for a key with a budget and `strict` limits
 */
export function checkLookAffordable (
  { record, routes }: Pick<RoutedCall<unknown>, 'record' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  route: Route,
  amounts: Pick<Amounts, 'prompt' | 'completion'>
): void {
  if (record.maxCostNanoUsd === undefined) return
  const { promptTokens = 0, completionTokens = 0, searches } = record.usage ?? {}
  const answered = { prompt: promptTokens, completion: completionTokens, searches }
  const used =
    costOfJudged(record.judged ?? [], models) +
    (record.ownProviderKey === true ? 0 : maxCostOf(routes, models, answered))
  if (used + maxCostOf([route], models, amounts) <= record.maxCostNanoUsd) return
  throw new GatewayError('insufficient_quota', {
    message: 'The remaining budget of this API key is too small for a stage to look at this call.'
  })
}
