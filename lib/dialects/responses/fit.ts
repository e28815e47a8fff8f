import { fitSystemMessages } from '../system-messages.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { FitTarget } from '../dialect.ts'
import type { Message } from '../../../schemas/messages.ts'
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
  const messages = fitSystemMessages(request.messages, provider)
  return messages === request.messages ? request : withMessages(request, messages)
}

/** Updates `originalInput` too, so that errors still name the right item. */
function withMessages (request: ChatInput, messages: readonly Message[]): ChatInput {
  const { originalInput } = request
  if (originalInput === undefined) return { ...request, messages }
  const fitted = replacements(request.messages, messages)
  return {
    ...request,
    messages,
    originalInput: {
      ...originalInput,
      messages: originalInput.messages.map(message => fitted.get(message) ?? message)
    }
  }
}

/** Maps each message to itself, or to the next new one, preferably of the same role. */
function replacements (
  given: readonly Message[],
  fitted: readonly Message[]
): ReadonlyMap<Message, Message | undefined> {
  const indexes = new Map(fitted.map((message, index) => [message, index]))
  const kept = new Set(given)
  const fresh = fitted.flatMap((message, index) => kept.has(message) ? [] : [{ message, index }])
  let last = -1
  let at = 0
  return new Map(
    given.map(message => {
      const index = indexes.get(message)
      if (index !== undefined) {
        last = index
        return [message, message]
      }
      while (at < fresh.length - 1 && (fresh[at]?.index ?? 0) < last) at++
      const next = fresh[at + 1]?.message
      return [
        message,
        fresh[at]?.message.role !== message.role && next?.role === message.role ? next : fresh[at]?.message
      ]
    })
  )
}
