/**
 * Decides how long the model may think and answer. Both share one limit, `max_tokens`, so they are computed
 * together; the caller's limit is never raised.
 *
 * `thinking` is mandatory: a conflict with it is an error. `reasoning_effort` is a preference: if the
 * provider would reject it, the model answers without thinking.
 */

import { nearestEffort } from '../../chat/effort.ts'
import { GatewayError } from '../../core/errors.ts'
import { choiceParam, isForced } from './tools.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatTraits } from './chat-traits.ts'
import type { Effort, MessagesRequest, ThinkingDisplay, WireMessage, WireToolChoice } from './wire.ts'

type ThinkingFields = Pick<MessagesRequest, 'max_tokens' | 'thinking' | 'output_config'>

/** Default limit of a model whose maximum is known, thinking included. */
const usualLimit = 32_000
/** Tokens that a default limit leaves for the answer itself. */
const minAnswerTokens = 4096
const minBudget = 1024
const budgets: Readonly<Record<Effort, number>> = {
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16384
}

/**
 * @param messages the conversation as sent: it may forbid thinking
 * @throws GatewayError if an explicit `thinking` leaves no tokens for the answer, or conflicts with a forced
 *   tool
 */
export function thinkingFields (
  request: ChatInput,
  traits: ChatTraits,
  messages: readonly WireMessage[],
  choice: WireToolChoice | undefined
): ThinkingFields {
  const { thinking, reasoning_effort: requested } = request
  const effort = effortOf(requested, traits)
  switch (thinking?.type) {
    case 'enabled': {
      checkNotForced(request, choice)
      const limit = tokenLimit(request, traits, thinking.budget_tokens)
      checkBudget(thinking.budget_tokens, limit)
      if (traits.budgets || !traits.adaptive) {
        return {
          max_tokens: limit,
          thinking: { type: 'enabled', budget_tokens: thinking.budget_tokens, ...displayOf(thinking) }
        }
      }
      // Adaptive thinking, displayed as by models with a budget.
      return {
        ...adaptive(request, traits, effort, { display: 'summarized', ...displayOf(thinking) }),
        max_tokens: limit
      }
    }
    case 'adaptive':
      checkNotForced(request, choice)
      return adaptive(request, traits, effort, displayOf(thinking))
    case 'disabled': {
      const limit = { max_tokens: tokenLimit(request, traits) }
      const knows = traits.thinkingOff && (traits.budgets || traits.adaptive)
      return knows ? { ...limit, thinking: { type: 'disabled' } } : limit
    }
    case undefined:
  }
  if (requested === 'none') return withoutThinking(request, traits)
  if (effort === undefined || isForced(choice) || forbidsThinking(messages, traits)) {
    return { max_tokens: tokenLimit(request, traits) }
  }
  if (traits.adaptive) {
    return adaptive(request, traits, effort, request.showsThinking === true ? { display: 'summarized' } : {})
  }
  return traits.budgets ? budgeted(request, traits, effort) : { max_tokens: tokenLimit(request, traits) }
}

/** Returns a supported effort; `none` has no counterpart. */
function effortOf (requested: ChatInput['reasoning_effort'], { efforts }: ChatTraits): Effort | undefined {
  const isUnset = requested === undefined || requested === 'none'
  const effort = isUnset ? undefined : nearestEffort(requested, efforts)
  return effort === 'none' || effort === 'minimal' ? undefined : effort
}

/** Turns thinking off in a model that thinks by default; one that cannot stop gets its lowest effort. */
function withoutThinking (request: ChatInput, traits: ChatTraits): ThinkingFields {
  if (!traits.thinksByDefault) return { max_tokens: tokenLimit(request, traits) }
  if (traits.thinkingOff) {
    return { max_tokens: tokenLimit(request, traits), thinking: { type: 'disabled' } }
  }
  const { thinking: _, ...least } = adaptive(request, traits, effortOf('minimal', traits))
  return least
}

/** Newer models hide their thinking unless it is requested. */
function displayOf ({ display }: { readonly display?: ThinkingDisplay | null | undefined }): {
  display?: ThinkingDisplay
} {
  return display === undefined || display === null ? {} : { display }
}

function adaptive (
  request: ChatInput,
  traits: ChatTraits,
  effort: Effort | undefined,
  display: { display?: ThinkingDisplay } = {}
): ThinkingFields {
  return {
    max_tokens: tokenLimit(request, traits, budgets[effort ?? 'high']),
    thinking: { type: 'adaptive', ...display },
    ...effort !== undefined && { output_config: { effort } }
  }
}

/** A budget below the provider's minimum disables thinking. */
function budgeted (request: ChatInput, traits: ChatTraits, effort: Effort): ThinkingFields {
  const limit = tokenLimit(request, traits, budgets[effort])
  const budget = Math.min(budgets[effort], limit - 1)
  return budget < minBudget
    ? { max_tokens: limit }
    : { max_tokens: limit, thinking: { type: 'enabled', budget_tokens: budget } }
}

/** Callers who set no limit want entire files, but a server refuses a limit above the model's maximum. */
function tokenLimit (
  { max_completion_tokens: total, max_tokens: legacy }: ChatInput,
  { maxOutputTokens }: ChatTraits,
  thinking = 0
): number {
  const given = total ?? legacy
  const needed = minAnswerTokens + thinking
  if (maxOutputTokens === undefined) return given ?? needed
  return Math.min(given ?? Math.max(usualLimit, needed), maxOutputTokens)
}

function checkBudget (budget: number, limit: number): void {
  if (budget < limit) return
  throw new GatewayError('invalid_value', {
    message: `The thinking budget must be below the token limit, which is ${limit}.`,
    param: 'thinking.budget_tokens'
  })
}

function checkNotForced (request: ChatInput, choice: WireToolChoice | undefined): void {
  if (!isForced(choice)) return
  throw new GatewayError('unsupported_parameter', {
    message: 'This provider cannot force a tool while the model is thinking.', param: choiceParam(request)
  })
}

/**
 * Returns true if the provider would reject thinking: always after a prefill, and with a budget if the last
 * turn began without thinking. Adaptive thinking may begin in the middle of a turn.
 */
function forbidsThinking (messages: readonly WireMessage[], { adaptive }: ChatTraits): boolean {
  if (messages.at(-1)?.role === 'assistant') return true
  return !adaptive && beganWithoutThinking(messages)
}

function beganWithoutThinking (messages: readonly WireMessage[]): boolean {
  let start = messages.length
  while (start > 0 && continuesTurn(messages[start - 1])) start--
  const content = messages[start]?.content
  if (content === undefined) return false
  const [first] = content
  return typeof first !== 'object' || (first.type !== 'thinking' && first.type !== 'redacted_thinking')
}

/** Returns true for assistant messages, and for user messages with tool results only. */
function continuesTurn (message: WireMessage | undefined): boolean {
  if (message === undefined) return false
  return message.role === 'assistant' ||
    (typeof message.content !== 'string' && message.content.every(block => block.type === 'tool_result'))
}
