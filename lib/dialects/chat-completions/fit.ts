import { withoutMarks } from '../../chat/cache-marks.ts'
import { GatewayError } from '../../core/errors.ts'
import { fitSystem } from '../system-messages.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { FitTarget } from '../dialect.ts'

/**
 * Adapts a request to the provider of a route.
 *
 * @throws GatewayError `unsupported_parameter` for a response format that the provider has its own field for
 */
export function fitRequest (request: ChatInput, { provider }: FitTarget): ChatInput {
  if (provider.answerFormat !== undefined && request.response_format !== undefined) {
    throw new GatewayError('unsupported_parameter', {
      message: 'This model does not support response_format. ' +
        'Use generation_config.responseMimeType and responseJsonSchema.',
      param: 'response_format'
    })
  }
  const fitted = fitSystem(request, provider)
  return provider.cacheMarks === undefined ? withoutMarks(fitted) : fitted
}
