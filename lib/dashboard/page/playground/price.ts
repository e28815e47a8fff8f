/** The cost of an answer by the prices of the catalogue; the ledger of the gateway has the exact amount. */

import { catalogue } from '../state/catalogue.ts'
import type { AnswerUsage } from './answer.ts'

/** Returns `undefined` if no price is known. */
export function costOf (model: string, { prompt, completion, cached }: AnswerUsage): number | undefined {
  const price = catalogue.value.find(({ id }) => id === model)?.price
  if (price === null || price === undefined || (price.input === undefined && price.output === undefined)) {
    return
  }
  const { input = 0, output = 0, cached_input = input } = price
  return ((prompt - cached) * input + cached * cached_input + completion * output) / 1e6
}
