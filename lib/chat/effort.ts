/**
 * Fits tuning fields (effort, sampling, penalties) to the model: unsupported values are dropped or replaced.
 */

import { efforts, type Effort } from '../../schemas/efforts.ts'
import type { Traits } from '../core/model.ts'
import type { ChatInput } from './input.ts'

/**
 * Returns the supported effort closest to the requested one; on a tie, the lower.
 *
 * @param supported efforts of the model. Default: unknown, so the requested one is returned
 * @returns `undefined` if the model supports no effort
 */
export function nearestEffort (
  requested: Effort, supported: readonly string[] | undefined
): Effort | undefined {
  if (supported === undefined || supported.includes(requested)) return requested
  const index = efforts.indexOf(requested)
  const distance = (effort: Effort): number => Math.abs(efforts.indexOf(effort) - index)
  // 'none' disables thinking: it is never a substitute for an effort.
  return efforts
    .filter(effort => effort !== 'none' && supported.includes(effort))
    .toSorted((a, b) => distance(a) - distance(b))[0]
}

const sampling = ['temperature', 'top_p', 'top_k', 'logit_bias'] as const satisfies ReadonlyArray<
  keyof ChatInput
>
const penalties = ['presence_penalty', 'frequency_penalty'] as const satisfies ReadonlyArray<keyof ChatInput>

/** Returns the request without tuning fields that the model rejects; the same object if there are none. */
export function fitTuning (request: ChatInput, traits: Traits = {}): ChatInput {
  const { reasoning_effort: requested } = request
  const effort = requested === undefined ? undefined : nearestEffort(requested, traits.efforts)
  const refused = [
    ...traits.sampling === false && thinks(effort, traits) ? sampling : [],
    ...traits.penalties === false ? penalties : []
  ]
  if (effort === requested && !refused.some(field => request[field] !== undefined)) return request
  const fitted = { ...request }
  for (const field of refused) delete fitted[field] // our own object, just created
  delete fitted.reasoning_effort
  return effort === undefined ? fitted : { ...fitted, reasoning_effort: effort }
}

/** Returns false if the effort, requested or the model's default, disables thinking. */
export function thinks (effort: Effort | undefined, { defaultEffort }: Traits): boolean {
  return (effort ?? defaultEffort) !== 'none'
}
