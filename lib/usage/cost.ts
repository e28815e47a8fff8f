/** Costs of calls, in whole billionths of a dollar: sums of them are exact. */

import type { Usage } from '../core/usage.ts'
import type { ModelEntry } from '../core/model.ts'

/** A dollar per million tokens is a thousand billionths of a dollar per token. */
const perToken = 1000

/**
 * Computes the cost of an answer's tokens. Tokens read from a cache have a price of their own, where
 * one is known; tokens written to one cost as much as the rest of the prompt.
 *
 * @returns `undefined` where a needed price is not known, which is not zero
 */
export function costNanoUsd (
  { promptTokens, completionTokens, cachedTokens = 0 }: Usage, price: ModelEntry['price']
): number | undefined {
  if (price === undefined) return undefined
  const { input, output, cachedInput = input } = price
  const cached = Math.min(cachedTokens, promptTokens)
  let dollarsPerMillion = 0
  for (const [tokens, each] of [[promptTokens - cached, input], [cached, cachedInput], [completionTokens, output]] as const) {
    if (tokens === 0) continue
    if (each === undefined) return undefined
    dollarsPerMillion += tokens * each
  }
  return Math.round(dollarsPerMillion * perToken)
}
