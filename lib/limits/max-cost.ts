/** Computes the most that a call can cost on any of its routes, in billionths of a dollar. */

import { maxUnitCostOf, costNanoUsd } from '../usage/cost.ts'
import type { ModelEntry, Price } from '../core/model.ts'
import type { Route } from '../core/route.ts'
import type { Units } from '../core/usage.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import { maxMediaTokens, type AnswerEstimate, type SentMedia } from './estimate.ts'

/** Stands for "unlimited": above any budget, and still exact when summed or sent as JSON. */
const unboundedNanoUsd = 2 ** 52

/** Amounts of everything that is billed. */
export interface Amounts {
  readonly prompt: number
  readonly completion: number
  readonly units?: Units | undefined
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
  const costs = routes.map(({ modelId }) => {
    const model = models.find(modelId)
    if (model?.price === undefined) return 0
    return costFor(model.price, amounts, maxMediaTokens(amounts.media, model)) ?? 0
  })
  return Math.min(unboundedNanoUsd, Math.max(0, ...costs))
}

/** Returns the highest cost of a million answer tokens after such a prompt, in billionths of a dollar. */
export function maxAnswerCostOf (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  { prompt, media }: Pick<Amounts, 'prompt' | 'media'>
): number {
  const costs = routes.map(({ modelId }) => {
    const model = models.find(modelId)
    if (model?.price === undefined) return 0
    const mediaTokens = maxMediaTokens(media, model)
    const withAnswer = costFor(model.price, { prompt, completion: 1_000_000 }, mediaTokens) ?? 0
    return withAnswer - (costFor(model.price, { prompt, completion: 0 }, mediaTokens) ?? 0)
  })
  return Math.max(0, ...costs)
}

/**
 * Returns what a model bills; `undefined` if its price does not cover the call. A model with prices for the
 * units of a call bills at most the prompt tokens in addition, and no answer.
 */
export function costFor (
  price: Price, { prompt, completion, units, writesCache, searches = 0 }: Omit<Amounts, 'media'>, media = 0
): number | undefined {
  const unitCost = units === undefined ? undefined : maxUnitCostOf(units, price)
  const promptTokens = prompt + media
  const completionTokens = unitCost === undefined ? completion : 0
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
