import { fitSystem } from '../system-messages.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { FitTarget } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'

/**
 * Adapts a translated request to the provider of a route.
 *
 * @throws GatewayError `unsupported_value` or `unsupported_parameter` for what only a provider of this
 *   dialect supports
 */
export function fitRequest (
  request: ChatInput,
  { provider }: FitTarget,
  { untranslatable }: ResponsesContext
): ChatInput {
  if (untranslatable !== undefined) throw untranslatable
  return fitSystem(request, provider)
}
