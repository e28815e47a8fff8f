/** Prints an answer as one `chat.completion` object. */

import { countCompletion, type AnswerToolCall, type AnswerChoice, type ChatAnswer } from './answer.ts'
import { tokenLogprobs, type TokenLogprobs } from './tokens.ts'
import type { ChatBody } from './chat-body.ts'

export function completionOf (answer: ChatAnswer, body: ChatBody): object {
  return {
    id: answer.id,
    object: 'chat.completion',
    created: answer.createdSeconds,
    model: answer.model,
    choices: answer.choices.map(choice => ({
      index: choice.index,
      message: messageOf(choice),
      logprobs: allLogprobs(choice, body),
      finish_reason: choice.finish
    })),
    usage: chatUsage(answer),
    service_tier: 'default',
    system_fingerprint: answer.fingerprint
  }
}

export function chatUsage (answer: ChatAnswer): object {
  const { total, reasoning } = countCompletion(answer)
  return {
    prompt_tokens: answer.promptTokens,
    completion_tokens: total,
    total_tokens: answer.promptTokens + total,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0
    }
  }
}

function messageOf ({ reasoning, text, refused, calls }: AnswerChoice): object {
  const joined = text.join('')
  const [first] = calls
  return {
    role: 'assistant',
    content: refused || first !== undefined ? null : joined,
    refusal: refused ? joined : null,
    ...reasoning.length > 0 && { reasoning_content: reasoning.join('') },
    ...first !== undefined && callsOf(first, calls)
  }
}

function callsOf (first: AnswerToolCall, calls: readonly AnswerToolCall[]): object {
  if (first.kind === 'legacy') {
    return { function_call: { name: first.name, arguments: first.tokens.join('') } }
  }
  return {
    tool_calls: calls.map(({ id, kind, name, tokens }) => kind === 'custom'
      ? { id, type: 'custom', custom: { name, input: tokens.join('') } }
      : { id, type: 'function', function: { name, arguments: tokens.join('') } })
  }
}

/** Returns log probabilities for the text or for the refusal, whichever there is. */
export function logprobsOf ({ refused }: AnswerChoice, list: readonly TokenLogprobs[]): object {
  return refused ? { content: null, refusal: list } : { content: list, refusal: null }
}

function allLogprobs (choice: AnswerChoice, body: ChatBody): object | null {
  if (body.logprobs !== true || choice.text.length === 0) return null
  const top = body.top_logprobs ?? 0
  return logprobsOf(choice, choice.text.map((token, position) => tokenLogprobs(token, position, top)))
}
