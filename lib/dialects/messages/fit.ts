/**
 * Adapts a translated request to the model and provider of a route. Clients of this dialect send the same
 * request to every model: an effort to models that do not think, more tokens than a model can write, system
 * messages mid-conversation.
 */

import { withOwnFormat } from '../../chat/own-format.ts'
import { GatewayError } from '../../core/errors.ts'
import { fitSystemMessages } from '../system-messages.ts'
import { callerFields } from './caller-fields.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ProviderTraits } from '../../core/provider-traits.ts'
import type { Message } from '../../../schemas/messages.ts'
import type { FitTarget } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Maximum for most providers, unless their traits differ. */
const usualMaxStops = 4

/** @throws GatewayError `unsupported_parameter` for what this provider does not support */
export function fitRequest (
  request: ChatInput,
  { route, provider, model }: FitTarget,
  context: MessagesContext
): ChatInput {
  if (context.untranslatable !== undefined) throw context.untranslatable
  if (request.max_completion_tokens === 0) {
    throw new GatewayError('unsupported_parameter', {
      message: 'max_tokens: this model has no cache to warm. Request at least one token.',
      param: 'max_tokens'
    })
  }
  checkPrefill(request, provider)
  const fitted: Mutable<ChatInput> = { ...withOwnFormat(request, provider) }
  const limit = model?.capabilities['output_token_limit']
  if (typeof limit === 'number') fitted.max_completion_tokens ??= limit
  fitThinking(fitted, provider, model?.capabilities['thinking'], route.traits?.efforts)
  if (provider.callerFields === true) Object.assign(fitted, callerFields(context))
  if (Array.isArray(request.stop)) fitted.stop = request.stop.slice(0, provider.maxStops ?? usualMaxStops)
  const messages = fitSystemMessages(request.messages, provider)
  fitted.messages = provider.cacheMarks === true ? messages : messages.map(withoutMarks)
  if (request.tools !== undefined && provider.cacheMarks !== true) {
    fitted.tools = request.tools.map(withoutMark)
  }
  return fitted
}

function checkPrefill ({ messages }: ChatInput, { prefill = true }: ProviderTraits): void {
  if (messages.at(-1)?.role !== 'assistant' || prefill) return
  throw new GatewayError('unsupported_parameter', {
    message:
      'messages: this model does not continue an answer. The conversation must end with a user message.',
    param: 'messages'
  })
}

/**
 * @param thinks whether the model does, if the catalogue knows
 * @param efforts supported ones, if the catalogue knows
 */
function fitThinking (
  request: Mutable<ChatInput>,
  { thinking = false }: ProviderTraits,
  thinks: unknown,
  efforts: readonly string[] | undefined
): void {
  if (thinks === false) {
    delete request.thinking
    delete request.reasoning_effort
  }
  if (thinking) return
  delete request.thinking
  const effort = request.reasoning_effort
  // Most models do not support `none` and efforts above `high`.
  if (thinks !== true || (effort === 'none' && efforts?.includes('none') !== true))
    delete request.reasoning_effort
  else if (efforts === undefined && (effort === 'xhigh' || effort === 'max')) {
    request.reasoning_effort = 'high'
  }
}

function withoutMarks (message: Message): Message {
  const { content } = message
  if (!Array.isArray(content)) return message
  // The same parts of the same message.
  return { ...message, content: content.map(withoutMark) } as Message
}

function withoutMark<P extends object> (part: P): P {
  if (!('cache_control' in part)) return part
  const { cache_control: _, ...rest } = part
  return rest as P // a field missing from the schema
}
