/**
 * Adapts a translated request to the model and provider of a route. Clients of this dialect send the same
 * request to every model: an effort to models that do not think, more tokens than a model can write, system
 * messages mid-conversation.
 */

import { withoutMarks } from '../../chat/cache-marks.ts'
import { showsThinking } from '../../chat/shows-thinking.ts'
import { GatewayError } from '../../core/errors.ts'
import { fitSystem } from '../system-messages.ts'
import { callerFields } from './caller-fields.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ProviderTraits } from '../../core/provider-traits.ts'
import type { FitTarget } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Maximum for most providers, unless their traits differ. */
const usualMaxStops = 4

/** @throws GatewayError `unsupported_parameter` for what this provider does not support */
export function fitRequest (
  request: ChatInput,
  { route, provider, model, onIgnored }: FitTarget,
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
  const fitted: Mutable<ChatInput> = { ...fitSystem(request, provider) }
  const limit = model?.capabilities['output_token_limit']
  if (typeof limit === 'number') fitted.max_completion_tokens ??= limit
  fitThinking(fitted, provider, model?.capabilities['thinking'], route.traits?.efforts)
  if (provider.callerFields === true) Object.assign(fitted, callerFields(context))
  fitStops(fitted, onIgnored, route.traits?.stop === false ? 0 : provider.maxStops)
  return provider.cacheMarks === true ? fitted : withoutMarks(fitted)
}

/**
 * Leaves out stop sequences beyond those that the provider takes. A model may take none: then an answer that
 * runs on is more useful than an error, because clients send stop sequences to every model.
 */
function fitStops (
  request: Mutable<ChatInput>,
  onIgnored: FitTarget['onIgnored'],
  maxStops = usualMaxStops
): void {
  const stops = [request.stop ?? []].flat()
  if (stops.length <= maxStops) return
  if (maxStops === 0) delete request.stop
  else request.stop = stops.slice(0, maxStops)
  onIgnored?.('stop_sequences')
}

function checkPrefill ({ messages }: ChatInput, { prefill = true }: ProviderTraits): void {
  if (messages.at(-1)?.role !== 'assistant' || prefill) return
  throw new GatewayError('unsupported_parameter', {
    message:
      'messages: this model does not support assistant prefill. The conversation must end with a user message.',
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
  if (thinks === true && showsThinking(request)) request.showsThinking = true
  delete request.thinking
  const effort = request.reasoning_effort
  // Most models do not support `none` and efforts above `high`.
  if (thinks !== true || (effort === 'none' && efforts?.includes('none') !== true))
    delete request.reasoning_effort
  else if (efforts === undefined && (effort === 'xhigh' || effort === 'max')) {
    request.reasoning_effort = 'high'
  }
}
