/**
 * Prints an answer as a stream of `chat.completion.chunk` objects: one token per chunk, the choices in turns,
 * at the requested pace.
 */

import { chatUsage, logprobsOf } from './chat-completion.ts'
import { tokenLogprobs } from './tokens.ts'
import type { AnswerToolCall, AnswerChoice, ChatAnswer } from './answer.ts'
import type { ChatBody } from './chat-body.ts'
import type { Step } from './script.ts'

interface Piece {
  readonly delta: object
  readonly logprobs?: object | undefined
  readonly finish?: string
  /** 1 for a token, 0 for other chunks. */
  readonly words: 0 | 1
}

/** @param wordsPerSecond 0 means without a pause */
export function* streamOf (
  answer: ChatAnswer,
  body: ChatBody,
  wordsPerSecond: number
): Generator<Step, void> {
  const withUsage = body.stream_options?.include_usage === true
  const frame = (choices: readonly object[], usage: object | null): string => dataOf({
    id: answer.id,
    object: 'chat.completion.chunk',
    created: answer.createdSeconds,
    model: answer.model,
    service_tier: 'default',
    system_fingerprint: answer.fingerprint,
    choices,
    ...withUsage && { usage }
  })
  for (const [index, { delta, logprobs = null, finish = null, words }] of inSlices(answer.choices, body)) {
    if (words > 0 && wordsPerSecond > 0) yield { type: 'pause', ms: 1000 / wordsPerSecond }
    yield { type: 'send', bytes: frame([{ index, delta, logprobs, finish_reason: finish }], null), words }
  }
  if (withUsage) yield { type: 'send', bytes: frame([], chatUsage(answer)) }
  yield { type: 'send', bytes: done }
}

/** Returns one unnamed message of an event stream. */
export function dataOf (value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

export const done = 'data: [DONE]\n\n'

/** Yields a piece of each choice, then the next of each, until all have ended. */
function* inSlices (
  choices: readonly AnswerChoice[],
  body: ChatBody
): Generator<[index: number, piece: Piece], void> {
  let open = choices.map(choice => ({ index: choice.index, pieces: piecesOf(choice, body) }))
  while (open.length > 0) {
    const still: typeof open = []
    for (const choice of open) {
      const { done, value } = choice.pieces.next()
      if (done === true) continue
      still.push(choice)
      yield [choice.index, value]
    }
    open = still
  }
}

function * piecesOf (choice: AnswerChoice, body: ChatBody): Generator<Piece, void> {
  const { reasoning, text, refused, calls, finish } = choice
  const top = body.top_logprobs ?? 0
  const content = refused || calls.length > 0 ? null : ''
  yield { delta: { role: 'assistant', content, refusal: null }, words: 0 }
  for (const token of reasoning) yield { delta: { reasoning_content: token }, words: 1 }
  for (const [position, token] of text.entries()) {
    const delta = refused ? { refusal: token } : { content: token }
    const logprobs =
      body.logprobs === true ? logprobsOf(choice, [tokenLogprobs(token, position, top)]) : undefined
    yield { delta, logprobs, words: 1 }
  }
  for (const [index, call] of calls.entries()) {
    yield { delta: startOf(call, index), words: 0 }
    for (const token of call.tokens) yield { delta: partOf(call, index, token), words: 1 }
  }
  yield { delta: {}, finish, words: 0 }
}

function startOf ({ id, kind, name }: AnswerToolCall, index: number): object {
  if (kind === 'legacy') return { function_call: { name, arguments: '' } }
  return {
    tool_calls: [kind === 'custom'
      ? { index, id, type: 'custom', custom: { name, input: '' } }
      : { index, id, type: 'function', function: { name, arguments: '' } }]
  }
}

function partOf ({ kind }: AnswerToolCall, index: number, token: string): object {
  if (kind === 'legacy') return { function_call: { arguments: token } }
  return {
    tool_calls: [kind === 'custom'
      ? { index, custom: { input: token } }
      : { index, function: { arguments: token } }]
  }
}
