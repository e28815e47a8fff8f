/** Keeps the answer of a call within what was reserved of its key's budget. */

import { GatewayError } from '../core/errors.ts'
import { map, type PassThroughStage } from '../core/stage.ts'
import { affordableTokens } from '../limits/affordable.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Services } from '../services.ts'

/**
 * Caps the answer. One call in, one out: the same, or one whose `max_completion_tokens` is what the reservation
 * pays for after the prompt and the turns before. Only calls of keys with a budget and `strict` limits are changed (`limits`).
 *
 * @throws GatewayError `insufficient_quota` when not even a short answer can be paid
 */
export function capAnswer ({ models }: Pick<Services, 'models'>): PassThroughStage<RoutedCall<ChatInput>> {
  return map(<C extends RoutedCall<ChatInput>>(call: C): C => {
    const answer = affordableTokens(call, models)
    if (answer === undefined || answer.bound <= answer.affordable) return call
    if (answer.affordable < answer.min) {
      throw new GatewayError('insufficient_quota', {
        message: 'The remaining budget of this API key is too small for this call.'
      })
    }
    const { max_tokens: _, ...rest } = call.request
    return { ...call, request: { ...rest, max_completion_tokens: answer.affordable } }
  })
}
