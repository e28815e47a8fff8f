/** Bounds what is kept of a streamed answer, because its end repeats everything. */

import { invalidResponse } from '../../providers/provider-failure.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { GatewayError } from '../../core/errors.ts'

/** Characters; the default limit of a complete answer. No model writes a hundredth of it. */
export const maxKeptLength = 64 * 1024 * 1024

/** Characters of a printed log probability. */
const probabilityLength = 64

/** Returns roughly how many characters an event adds to the end of the answer. */
export function keptLength (event: ChatEvent): number {
  switch (event.type) {
    case 'text-delta':
      return (
        event.text.length +
        (event.logprobs?.content ?? []).reduce<number>(
          (sum, token) => sum + probabilitiesOf(token) * probabilityLength,
          0
        )
      )
    case 'refusal-delta':
    case 'reasoning-delta':
    case 'tool-call-delta':
      return event.text.length
    case 'annotation-delta':
      return JSON.stringify(event.annotations).length
    case 'answer-start':
    case 'thinking-block':
    case 'audio-delta':
    case 'tool-call-start':
    case 'tool-call-end':
    case 'extra':
    case 'choice-end':
    case 'usage':
    case 'direct-frame':
    case 'direct-answer':
    case 'tool-result':
    case 'tools-listed':
    case 'tool-approval-needed':
    case 'tool-servers-failed':
      return 0
    default:
      return event satisfies never
  }
}

function probabilitiesOf (token: unknown): number {
  const { top_logprobs: others } = Object(token) as { readonly top_logprobs?: unknown }
  return 1 + (Array.isArray(others) ? others.length : 0)
}

export function tooLong (): GatewayError {
  return invalidResponse(`a streamed answer of more than ${maxKeptLength} characters`)
}
