/**
 * Fits what only tunes an answer (the effort, sampling, penalties) to the model: a value that it would refuse
 * is left out or replaced.
 */

import { efforts, type Effort } from '../../schemas/efforts.ts'
import type { Traits } from '../core/model.ts'
import type { ChatInput } from './input.ts'

/**
 * Returns the effort that comes closest to the one a caller wants, a lower one before a higher one.
 *
 * @param known those that the model takes; absent: not known, the wish is sent as it is
 * @returns `undefined` if the model takes none of these words
 */
export function nearestEffort (wish: Effort, known: readonly string[] | undefined): Effort | undefined {
  if (known === undefined || known.includes(wish)) return wish
  const index = efforts.indexOf(wish)
  const distance = (effort: Effort): number => Math.abs(efforts.indexOf(effort) - index)
  // Not to think is no lesser effort, unless it was asked for.
  return efforts
    .filter(effort => effort !== 'none' && known.includes(effort))
    .toSorted((a, b) => distance(a) - distance(b))[0]
}

const sampling = ['temperature', 'top_p', 'top_k', 'logit_bias'] as const satisfies ReadonlyArray<
  keyof ChatInput
>
const penalties = ['presence_penalty', 'frequency_penalty'] as const satisfies ReadonlyArray<keyof ChatInput>

/**
 * Returns a request without fields that only tune and that the model refuses; the same one where there are
 * none.
 */
export function fitTuning (request: ChatInput, traits: Traits = {}): ChatInput {
  const { reasoning_effort: wish } = request
  const effort = wish === undefined ? undefined : nearestEffort(wish, traits.efforts)
  const refused = [
    ...traits.sampling === false && thinks(effort, traits) ? sampling : [],
    ...traits.penalties === false ? penalties : []
  ]
  if (effort === wish && !refused.some(field => request[field] !== undefined)) return request
  const fitted = { ...request }
  for (const field of refused) delete fitted[field] // our own object, just made
  delete fitted.reasoning_effort
  return effort === undefined ? fitted : { ...fitted, reasoning_effort: effort }
}

/** Returns false if the effort of a request, or the one the model has without, says not to think. */
export function thinks (effort: Effort | undefined, { defaultEffort }: Traits): boolean {
  return (effort ?? defaultEffort) !== 'none'
}
