import { withOwnFormat } from '../../chat/own-format.ts'
import { fitSystemMessages } from '../system-messages.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { FitTarget } from '../dialect.ts'
import type { Message } from '../../../schemas/messages.ts'
import type { ResponsesContext } from './input.ts'

/**
 * Fits a translated request to the provider of one route.
 *
 * @throws GatewayError `unsupported_value`, `unsupported_parameter` for what only a provider of this dialect can take
 */
export function fitRequest (request: ChatInput, { provider }: FitTarget, { untranslatable }: ResponsesContext): ChatInput {
  if (untranslatable !== undefined) throw untranslatable
  const fitted = withOwnFormat(request, provider)
  const messages = fitSystemMessages(request.messages, provider)
  return messages === request.messages ? fitted : withMessages(fitted, messages)
}

/** Errors still name the item that a message was made of. */
function withMessages (request: ChatInput, messages: readonly Message[]): ChatInput {
  const { originalInput } = request
  if (originalInput === undefined) return { ...request, messages }
  // Only those in front became fewer.
  const fewer = request.messages.length - messages.length
  const fitted = new Map(request.messages.map((message, index) => [message, messages[Math.max(0, index - fewer)]]))
  return { ...request, messages, originalInput: { ...originalInput, messages: originalInput.messages.map(message => fitted.get(message) ?? message) } }
}
