import { refine, type RoutedCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ChatInput } from './input.ts'

/**
 * Returns a call whose answer is text alone, of which all can be changed: it asks for no log probabilities,
 * whatever the settings of its model say.
 *
 * @throws GatewayError `unsupported_parameter` for a call that wants a spoken answer
 */
export function asTextAnswer<R extends ChatInput> (call: RoutedCall<R>): RoutedCall<R> {
  const { request, routes } = call
  if (request.modalities?.includes('audio') === true) {
    throw new GatewayError('unsupported_parameter', {
      param: 'modalities',
      message:
        'A stage of this gateway looks at this answer, and a spoken one cannot be changed. Ask for text alone.'
    })
  }
  if (request.logprobs !== true && !routes.some(({ settings }) => settings?.['logprobs'] === true)) {
    return call
  }
  const { top_logprobs: _, ...rest } = request
  return refine(call, { request: { ...rest, logprobs: false } as R }) // the same fields but for these
}
