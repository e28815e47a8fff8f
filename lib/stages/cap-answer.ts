/** Keeps the cost of an answer within the amount reserved from budgets. */

import { GatewayError } from '../core/errors.ts'
import { hasMaxTokens, mayHaveMaxTokens, withMaxTokens, withMaxTokensInConfig } from '../chat/max-tokens.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { affordableTokens } from '../limits/max-cost.ts'
import { estimateChat } from '../limits/estimate-chat.ts'
import type { Estimator } from '../limits/estimate.ts'
import type { Route } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Services } from '../services.ts'

export interface CapAnswerOptions<R> {
  /** Default: `estimateChat`. */
  readonly estimate?: Estimator<R>
}

/**
 * Caps the answer: one call in, one out. The answer gets at most the tokens that the reservation still pays
 * for after the prompt and earlier turns. Only calls with a budget and `strict` limits are changed
 * (`limits`).
 *
 * @throws GatewayError `insufficient_quota` when not even a short answer can be paid for
 */
export function capAnswer<R extends ChatInput = ChatInput> (
  { models }: Pick<Services, 'models'>, { estimate = estimateChat }: CapAnswerOptions<R> = {}
): PassThroughStage<RoutedCall<R>> {
  return map(<C extends RoutedCall<R>>(call: C): C => {
    const answer = affordableTokens(call, models, estimate)
    if (answer === undefined || answer.bound <= answer.affordable) return call
    if (answer.affordable < answer.min) {
      throw new GatewayError('insufficient_quota', {
        message: 'The remaining budget is too small for this call. Send a shorter prompt.'
      })
    }
    call.record.request.maxTokens = answer.affordable
    return { ...call, ...capped(call, answer.affordable) }
  })
}

/**
 * Limits the answer. A limit in the request overrides settings; without one, each route keeps the limit of
 * its settings or gets a lower one.
 */
function capped (
  { request, routes }: RoutedCall<ChatInput>,
  maxTokens: number
): Partial<Pick<RoutedCall<ChatInput>, 'request' | 'routes'>> {
  const [first, ...others] = routes
  if (
    hasMaxTokens(request) ||
    !routes.some(({ settings }) => settings !== undefined && mayHaveMaxTokens(settings))
  ) {
    return { request: withMaxTokens(request, maxTokens) }
  }
  const cappedRoute = (route: Route): Route => ({
    ...route,
    settings: withMaxTokens(route.settings ?? {}, maxTokens)
  })
  return {
    request: withMaxTokensInConfig(request, maxTokens),
    routes: [cappedRoute(first), ...others.map(cappedRoute)]
  }
}
