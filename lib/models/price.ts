/** Blends prices, so that models can be compared. */

import type { ModelEntry } from '../core/model.ts'

/**
 * 10 cents and less are cost 0, 100 dollars and more are cost 1; every factor of ten between adds a third.
 */
const cheapestUsd = 0.1
const mostExpensiveUsd = 100

/**
 * Returns USD per million tokens, with the usual three input tokens for each output token; `undefined` if no
 * price is known.
 */
export function blendedPrice (price: ModelEntry['price']): number | undefined {
  if (price?.input === undefined) return undefined
  return price.output === undefined ? price.input : (3 * price.input + price.output) / 4
}

/** Returns true for a model whose provider charges less for a cached prompt. */
export function cachesPrompts (price: ModelEntry['price']): boolean {
  return price?.cachedInput !== undefined && price.cachedInput < (price.input ?? 0)
}

/** Returns the attribute `cost` of a price, from 0 for cheap to 1 for expensive. */
export function costAttribute (price: ModelEntry['price']): number | undefined {
  const usd = blendedPrice(price)
  if (usd === undefined) return undefined
  const share = Math.log(usd / cheapestUsd) / Math.log(mostExpensiveUsd / cheapestUsd)
  return Math.min(1, Math.max(0, share))
}
