/**
 * Fits what only tunes an answer (the effort, sampling, penalties) to the model: a value that it would refuse
 * is left out or replaced.
 */

import { efforts, type Effort } from '../../schemas/efforts.ts'
import type { Traits } from '../core/model.ts'
import type { ChatInput } from './input.ts'

/**
 * Returns the supported effort closest to the requested one; of two equally close ones, the lower.
 *
 * @param supported the efforts the model takes. Default: unknown, and the requested one is returned
 * @returns `undefined` if the model takes no effort
 */
export function nearestEffort (
  requested: Effort, supported: readonly string[] | undefined
): Effort | undefined {
  if (supported === undefined || supported.includes(requested)) return requested
  const index = efforts.indexOf(requested)
  const distance = (effort: Effort): number => Math.abs(efforts.indexOf(effort) - index)
  // 'none' turns thinking off: it is never a substitute for an effort.
  return efforts
    .filter(effort => effort !== 'none' && supported.includes(effort))
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
  const { reasoning_effort: requested } = request
  const effort = requested === undefined ? undefined : nearestEffort(requested, traits.efforts)
  const refused = [
    ...traits.sampling === false && thinks(effort, traits) ? sampling : [],
    ...traits.penalties === false ? penalties : []
  ]
  if (effort === requested && !refused.some(field => request[field] !== undefined)) return request
  const fitted = { ...request }
  for (const field of refused) delete fitted[field] // our own object, just made
  delete fitted.reasoning_effort
  return effort === undefined ? fitted : { ...fitted, reasoning_effort: effort }
}

/** Returns false if the effort of a request, or the one the model has without, says not to think. */
export function thinks (effort: Effort | undefined, { defaultEffort }: Traits): boolean {
  return (effort ?? defaultEffort) !== 'none'
}
