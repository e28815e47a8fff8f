/**
 * Composes one answer of the sandbox, token by token, before it is printed as a stream or as one object. Both
 * are printed from the same answer, so they agree.
 */

import { completionId, toolCallId } from '../text/ids.ts'
import { hash } from './random.ts'
import { jsonFromSchema } from './json-from-schema.ts'
import { outputTokenLimit, type Character } from './sandbox-models.ts'
import { composeReasoning, composeText } from './text.ts'
import { contentText, type Question } from './last-message.ts'
import { countTokens, tokensOf } from './tokens.ts'
import { forcesOneTool, planCalls, type PlannedCall, type ToolKind } from './tool-calling.ts'
import type { ChatBody } from './chat-body.ts'
import type { Directives } from './directives.ts'
import { nowSeconds } from '../core/reply.ts'

export type Finish = 'stop' | 'length' | 'tool_calls' | 'function_call' | 'content_filter'

export interface AnswerToolCall {
  readonly id: string
  readonly kind: ToolKind
  readonly name: string
  readonly tokens: readonly string[]
}

export interface AnswerChoice {
  readonly index: number
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  /** True if the text is a refusal. */
  readonly refused: boolean
  readonly calls: readonly AnswerToolCall[]
  readonly finish: Finish
}

export interface ChatAnswer {
  readonly id: string
  readonly createdSeconds: number
  readonly model: string
  readonly fingerprint: string
  readonly choices: readonly AnswerChoice[]
  readonly promptTokens: number
}

export interface AnswerRequest {
  readonly body: ChatBody
  readonly question: Question
  readonly model: string
  readonly character: Character
  readonly directives: Directives
}

// What OpenAI counts for the frame of a message, and for a picture in low detail.
const tokensPerMessage = 4
const tokensPerAttachment = 85

/** @throws SandboxRefusal 400 for a tool choice or a schema that cannot be followed */
export function composeAnswer (request: AnswerRequest): ChatAnswer {
  const { body, question, model, directives } = request
  const count = Math.min(body.n ?? 1, 128)
  const most = Math.floor(outputTokenLimit / count)
  const limit = Math.min(body.max_completion_tokens ?? body.max_tokens ?? most, most)
  const calls = directives.refuse === true ? [] : planCalls(body, question, directives.rounds ?? 1)
  return {
    id: completionId(),
    createdSeconds: nowSeconds(),
    model,
    fingerprint: `fp_${hash(model).toString(16).padStart(8, '0')}`,
    choices: Array.from({ length: count }, (_, index) =>
      limited(composeChoice(request, calls, index), limit)
    ),
    promptTokens: countPrompt(body, question)
  }
}

/** Tokens of the choices together: reasoning, text, arguments. */
export function countCompletion ({ choices }: ChatAnswer): {
  readonly total: number
  readonly reasoning: number
} {
  let total = 0
  let reasoning = 0
  for (const choice of choices) {
    reasoning += choice.reasoning.length
    total += choice.reasoning.length + choice.text.length
    for (const call of choice.calls) total += call.tokens.length
  }
  return { total, reasoning }
}

function composeChoice (
  request: AnswerRequest,
  planned: readonly PlannedCall[],
  index: number
): AnswerChoice {
  const { body, character, directives } = request
  const calls = planned.map(({ kind, name, text }) => ({
    id: toolCallId(),
    kind,
    name,
    tokens: tokensOf(text)
  }))
  const filtered = directives.fault === 'filter' && calls.length === 0
  const text = calls.length > 0 ? [] : tokensOf(stopped(contentOf(request, index), body.stop))
  return {
    index,
    reasoning: character.thinks ? tokensOf(composeReasoning(body.reasoning_effort)) : [],
    text: filtered ? text.slice(0, directives.after) : text,
    refused: directives.refuse === true,
    calls,
    finish: filtered ? 'content_filter' : finishOf(body, calls)
  }
}

function contentOf ({ body, question, character, directives }: AnswerRequest, index: number): string {
  if (directives.refuse === true) return 'I will not answer that, because I was instructed to refuse.'
  const format = body.response_format
  if (format?.type === 'json_schema') {
    return JSON.stringify(jsonFromSchema(format.json_schema.schema ?? {}, { optional: true, variant: index }))
  }
  const text = composeText(question, {
    voice: character.voice, words: directives.words, seed: body.seed ?? 0, choice: index
  })
  return format?.type === 'json_object' ? JSON.stringify({ simulator: 'sandbox', answer: text }) : text
}

/** Returns the text up to the first of the stop sequences. */
function stopped (text: string, stop: ChatBody['stop']): string {
  const stops = typeof stop === 'string' ? [stop] : stop ?? []
  const cuts = stops.map(sequence => sequence === '' ? -1 : text.indexOf(sequence)).filter(at => at >= 0)
  return cuts.length === 0 ? text : text.slice(0, Math.min(...cuts))
}

function finishOf (body: ChatBody, calls: readonly AnswerToolCall[]): Finish {
  const [first] = calls
  if (first === undefined) return 'stop'
  if (first.kind === 'legacy') return 'function_call'
  return forcesOneTool(body) ? 'stop' : 'tool_calls'
}

/** Returns the choice cut to so many tokens, in the order in which a model writes them. */
function limited (choice: AnswerChoice, limit: number): AnswerChoice {
  let left = limit
  let cut = false
  const take = (tokens: readonly string[]): readonly string[] => {
    const taken = tokens.slice(0, left)
    left -= taken.length
    cut ||= taken.length < tokens.length
    return taken
  }
  const reasoning = take(choice.reasoning)
  const text = take(choice.text)
  const calls = choice.calls.map(call => ({ ...call, tokens: take(call.tokens) }))
  if (!cut) return choice
  return { ...choice, reasoning, text, calls: calls.filter(call => call.tokens.length > 0), finish: 'length' }
}

function countPrompt ({ messages, tools, functions }: ChatBody, { attachments }: Question): number {
  let count = 0
  for (const message of messages) {
    count += tokensPerMessage + countTokens(contentText(message.content))
    if (message.role === 'assistant' && message.tool_calls) {
      count += countTokens(JSON.stringify(message.tool_calls))
    }
  }
  if (tools !== undefined) count += countTokens(JSON.stringify(tools))
  if (functions !== undefined) count += countTokens(JSON.stringify(functions))
  return count + tokensPerAttachment * attachments.length
}
