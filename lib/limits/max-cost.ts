/**
 * Computes the most that a call can cost on any of its routes, in billionths of a dollar, and what its
 * reservation in a strict budget can still pay for.
 */

import { GatewayError } from '../core/errors.ts'
import { requestBytes } from '../core/request-size.ts'
import type { CallRecord } from '../core/record.ts'
import { costOfJudged, costOfWasted } from '../usage/call-cost.ts'
import { maxUnitCostOf, costNanoUsd } from '../usage/cost.ts'
import { minBytesPerSecond } from './estimate-units.ts'
import { estimateChat } from './estimate-chat.ts'
import type { AnswerEstimate, Estimator, PromptMedia } from './estimate.ts'
import type { ChatInput } from '../chat/input.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ModelEntry, Price } from '../core/model.ts'
import type { Route } from '../core/route.ts'
import type { Units } from '../core/usage.ts'
import type { ModelRegistry } from '../models/model-registry.ts'

/** Stands for "unlimited": above any budget, and still exact when summed or sent as JSON. */
const unboundedNanoUsd = 2 ** 52
const million = 1_000_000

/** Amounts of everything that is billed. */
export interface Amounts {
  readonly prompt: number
  readonly completion: number
  readonly units?: Units | undefined
  /** Tokens of the answer that are billed in addition to the units. Default 0. */
  readonly answerTokens?: number | undefined
  /** Media of the prompt, in addition to its tokens. */
  readonly media?: SentMedia | undefined
  /** True if the entire prompt may be written to a cache. */
  readonly writesCache?: boolean | undefined
  /** Searches of the web. Default 0. */
  readonly searches?: number | undefined
}

/** Returns the highest cost of these amounts among the routes, in billionths of a dollar. */
export function maxCostOf (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  amounts: Amounts
): number {
  return Math.min(unboundedNanoUsd, highestCost(routes, models, (price, model) =>
    costFor(price, amounts, maxMediaTokens(amounts.media, model)) ?? 0
  ))
}

/** Returns the highest cost of a million answer tokens after such a prompt, in billionths of a dollar. */
export function maxAnswerCostOf (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  { prompt, media }: Pick<Amounts, 'prompt' | 'media'>
): number {
  return highestCost(routes, models, (price, model) => {
    const mediaTokens = maxMediaTokens(media, model)
    const withAnswer = costFor(price, { prompt, completion: million }, mediaTokens) ?? 0
    return withAnswer - (costFor(price, { prompt, completion: 0 }, mediaTokens) ?? 0)
  })
}

/** Returns the highest cost among the routes whose models have a price; 0 without any. */
function highestCost (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  costOf: (price: Price, model: ModelEntry) => number
): number {
  return routes.reduce((highest, { modelId }) => {
    const model = models.find(modelId)
    return model?.price === undefined ? highest : Math.max(highest, costOf(model.price, model))
  }, 0)
}

/**
 * Returns what a model bills; `undefined` if its price does not cover the call. A model with prices for the
 * units of a call bills at most the prompt and `answerTokens` in addition.
 */
export function costFor (
  price: Price,
  { prompt, completion, units, answerTokens = 0, writesCache, searches = 0 }: Omit<Amounts, 'media'>,
  media = 0
): number | undefined {
  const unitCost = units === undefined ? undefined : maxUnitCostOf(units, price)
  const promptTokens = prompt + media
  const besideUnits = price.output === undefined ? 0 : answerTokens
  const completionTokens = unitCost === undefined ? completion : besideUnits
  let highest: number | undefined
  for (const written of writesCache === true ? [0, prompt, promptTokens] : [0]) {
    for (const parts of media > 0 ? [{}, { promptAudioTokens: media }, { promptImageTokens: media }] : [{}]) {
      const usage = { promptTokens, completionTokens, totalTokens: promptTokens, searches, ...parts }
      const cost = written > 0
        ? costNanoUsd({ ...usage, cacheWriteTokens: written, cacheWriteHourTokens: written }, price)
        : costNanoUsd(usage, price)
      if (cost !== undefined) highest = Math.max(highest ?? 0, cost)
    }
  }
  return highest === undefined ? unitCost : (unitCost ?? 0) + highest
}

/**
 * Returns the most tokens the answers of a call can have. An answer without a limit gets `defaultTokens` plus
 * reasoning tokens, or the model's limit if that is lower. `capAnswer` enforces it.
 */
export function maxCompletionOf (
  { limit, count, reasoning }: AnswerEstimate,
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  defaultTokens: number
): number {
  if (limit !== undefined) return count * limit
  return (
    count *
    Math.min(
      defaultTokens + reasoning,
      Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId))))
    )
  )
}

/** Returns a model's limit on one answer, in tokens; `Infinity` if unknown. */
export function outputLimitOf (model: ModelEntry | undefined): number {
  const limit = model?.capabilities['output_token_limit']
  return typeof limit === 'number' ? limit : Infinity
}

/** Media that a call sends. */
export interface SentMedia {
  readonly counts: PromptMedia
  /** Bytes of the body and of what the store adds to it. No recording is longer. */
  readonly bodyBytes: number
  /** How often a provider may read them. */
  readonly prompts: number
}

/**
 * The largest image, at the models that count the most tokens for one:
 * https://developers.openai.com/api/docs/guides/images-vision
 */
const imageTokens = 40_000
/** The same at Anthropic: https://platform.claude.com/docs/en/build-with-claude/vision */
const anthropicImageTokens = 5000
/** No provider counts more than 32 tokens for a second. */
const recordingBytesPerToken = Math.floor(minBytesPerSecond / 32)
/** Assumed if the input limit of a model is unknown. */
const unknownInputTokens = 1_000_000

/**
 * Returns the most tokens that media can take at a model; 0 without media. Placeholder text does not tell
 * their size. A provider never reads more than the model's input limit.
 */
export function maxMediaTokens (media: SentMedia | undefined, model: ModelEntry | undefined): number {
  if (media === undefined) return 0
  const { counts: { images, recordings, others }, bodyBytes, prompts } = media
  const limit = model?.capabilities['input_token_limit']
  const most = typeof limit === 'number' ? limit : unknownInputTokens
  if (others > 0) return prompts * most
  const each = model?.upstreamApi.startsWith('anthropic/') === true ? anthropicImageTokens : imageTokens
  return (
    prompts *
    Math.min(most, images * each + (recordings > 0 ? Math.ceil(bodyBytes / recordingBytesPerToken) : 0))
  )
}

/** Tokens for each choice of the next answer. */
export interface AffordableAnswer {
  /** Tokens affordable after the prompt, its searches and earlier turns; negative if not even those are. */
  readonly affordable: number
  /** The limit of the request or its models. */
  readonly bound: number
  /** A shorter answer is not worth requesting. */
  readonly min: number
}

/**
 * Returns what a call under a strict budget can still afford; `undefined` for other calls, and if the
 * caller pays the provider.
 */
export function affordableTokens<R extends ChatInput> (
  { record, request, routes }: Pick<RoutedCall<R>, 'record' | 'request' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  estimate: Estimator<R> = estimateChat
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
    message: 'The remaining budget is too small for a guard to inspect this call. Send a shorter request.'
  })
}

/**
 * Returns the highest cost of a call so far without its answers: requests whose answers were not used, and
 * those of guards. A guard may still be inspecting the request, so the full answer of an open inspection is
 * included.
 */
function maxExtraCost (record: CallRecord, models: Pick<ModelRegistry, 'find'>): number {
  const { judgeRequests = [] } = record.usage
  const inspections = judgeRequests.map(one => ({ ...one, usage: one.maxUsage ?? one.usage }))
  return costOfWasted(record, models) + costOfJudged(inspections, models)
}
