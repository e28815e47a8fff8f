/** What a call cost, in whole billionths of a dollar: sums of them are exact. */

import type { Usage } from '../core/usage.ts'
import type { ModelEntry } from '../core/model.ts'

/** A dollar per million tokens is a thousand billionths of a dollar per token. */
const perToken = 1000

/**
 * The cost of an answer's tokens. What was read from a cache has a price of its own, where one is
 * known; what was written to one is paid like the rest of the prompt.
 *
 * @returns `undefined` where a price that is needed is not known: that is not zero
 */
export function costOf (
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
