/** Selects the routes that a key with a budget may use, and computes what they may cost. */

import { GatewayError } from '../core/errors.ts'
import { costNanoUsd } from '../usage/cost.ts'
import type { Budget } from '../core/key.ts'
import type { ModelEntry } from '../core/model.ts'
import type { Route } from '../core/route.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { TokenEstimate } from './estimate.ts'

/** More than any budget, and safe to add up and to send as JSON. */
const unboundedNanoUsd = 2 ** 52

/**
 * Returns the routes whose models have a price, so that what they cost counts.
 *
 * @throws GatewayError `insufficient_permissions` when none has
 */
export function pricedRoutes (
  routes: readonly [Route, ...Route[]], models: Pick<ModelRegistry, 'find'>, { unpriced = 'refuse' }: Budget
): readonly [Route, ...Route[]] {
  if (unpriced === 'allow') return routes
  const [first, ...others] = routes.filter(({ modelId }) => models.find(modelId)?.price !== undefined)
  if (first !== undefined) return [first, ...others]
  throw new GatewayError('insufficient_permissions', {
    message: `This API key has a budget, and no price is known for the model \`${routes[0].modelId}\`. ` +
      'Set its price in the configuration, or `unpriced: allow` on the budget.',
    param: 'model'
  })
}

/** Returns the highest cost of so many tokens among the routes, in billionths of a dollar. */
export function maxCostOf (
  routes: readonly Route[], models: Pick<ModelRegistry, 'find'>, promptTokens: number, completionTokens: number
): number {
  const usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
  const costs = routes.map(({ modelId }) => costNanoUsd(usage, models.find(modelId)?.price) ?? 0)
  return Math.min(unboundedNanoUsd, Math.max(0, ...costs))
}

/** Returns the most tokens the answers of a call can have, as the request or its models bound them. */
export function maxCompletionOf (
  { maxCompletion, answers = 1 }: TokenEstimate, routes: readonly Route[], models: Pick<ModelRegistry, 'find'>
): number {
  return answers * (maxCompletion ?? Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId)))))
}

/** Returns the bound of a model on one answer, in tokens; `Infinity` where it is not known. */
export function outputLimitOf (model: ModelEntry | undefined): number {
  const limit = model?.capabilities['output_token_limit']
  return typeof limit === 'number' ? limit : Infinity
}
