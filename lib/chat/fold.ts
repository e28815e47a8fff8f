/** Chunks to one completion. */

import type { Chunk, ChunkChoice, ChunkDelta, ToolCallDelta, WireUsage } from './chunk.ts'
import type { FinishReason } from '../core/events.ts'

export interface Completion {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: CompletionChoice[]
  usage?: WireUsage
  [extra: string]: unknown
}

export interface CompletionChoice {
  index: number
  message: Message
  logprobs: unknown
  finish_reason: FinishReason | null
  [extra: string]: unknown
}

interface Message {
  role: 'assistant'
  content: string | null
  refusal: string | null
  [field: string]: unknown
}

interface Logprobs { content: unknown[] | null, refusal: unknown[] | null }

/**
 * Folds the chunks of an answer, in order, into the answer that a call without `stream` gets.
 * Choices come out in the order of their indexes; `refusal` is always there.
 *
 * @throws TypeError for no chunks at all: an answer begins with at least one
 */
export function foldChunks (chunks: Iterable<Chunk>): Completion {
  let answer: Completion | undefined
  const choices = new Map<number, ChoiceFold>()
  for (const chunk of chunks) {
    const { choices: pieces, usage } = chunk
    answer ??= { id: chunk.id, object: 'chat.completion', created: chunk.created, model: chunk.model, choices: [] }
    for (const key in chunk) {
      if (key !== 'choices' && key !== 'usage' && key !== 'object') answer[key] = chunk[key]
    }
    for (const piece of pieces) {
      let choice = choices.get(piece.index)
      if (choice === undefined) choices.set(piece.index, choice = new ChoiceFold(piece.index))
      choice.add(piece)
    }
    if (usage !== undefined && usage !== null) answer.usage = usage
  }
  if (answer === undefined) throw new TypeError('an answer has at least one chunk')
  answer.choices = [...choices.values()].map(choice => choice.result()).toSorted((a, b) => a.index - b.index)
  return answer
}

class ChoiceFold {
  readonly #index: number
  readonly #calls: ToolCallDelta[] = []
  readonly #message: Record<string, unknown> = {}
  readonly #extra: Record<string, unknown> = {}
  #content = ''
  #logprobs: Logprobs | null = null
  #finish: FinishReason | null = null

  constructor (index: number) {
    this.#index = index
  }

  add (choice: ChunkChoice): void {
    this.#addDelta(choice.delta)
    this.#addLogprobs(choice.logprobs as Partial<Logprobs> | null | undefined) // ours: made in chunk
    this.#finish = choice.finish_reason ?? this.#finish
    for (const key in choice) {
      if (key !== 'index' && key !== 'delta' && key !== 'logprobs' && key !== 'finish_reason') this.#extra[key] = choice[key]
    }
  }

  result (): CompletionChoice {
    const calls = this.#calls.filter(call => call !== undefined).map(({ index: _, ...call }) => call)
    const spoken = calls.length > 0 || 'function_call' in this.#message || 'refusal' in this.#message ||
      'audio' in this.#message
    return {
      index: this.#index,
      message: {
        role: 'assistant',
        // No text beside a call, a refusal or a voice is null; otherwise it is empty text.
        content: this.#content === '' && spoken ? null : this.#content,
        refusal: null,
        ...this.#message,
        ...(calls.length === 0 ? {} : { tool_calls: calls })
      },
      logprobs: this.#logprobs,
      finish_reason: this.#finish,
      ...this.#extra
    }
  }

  #addDelta (delta: ChunkDelta): void {
    const { content, tool_calls: calls } = delta
    if (content !== undefined) this.#content += content
    if (calls !== undefined) for (const call of calls) this.#addCall(call)
    for (const key in delta) {
      if (key !== 'role' && key !== 'content' && key !== 'tool_calls') {
        this.#message[key] = joined(key, this.#message[key], delta[key])
      }
    }
  }

  #addCall (delta: ToolCallDelta): void {
    const call = this.#calls[delta.index]
    if (call === undefined) {
      this.#calls[delta.index] = structuredClone(delta)
      return
    }
    if (call.function !== undefined) {
      call.function.arguments = (call.function.arguments ?? '') + (delta.function?.arguments ?? '')
    }
    if (call.custom !== undefined) call.custom.input = (call.custom.input ?? '') + (delta.custom?.input ?? '')
  }

  #addLogprobs (logprobs: Partial<Logprobs> | null | undefined): void {
    if (logprobs === null || logprobs === undefined) return
    const all = this.#logprobs ??= { content: null, refusal: null }
    all.content = grown(all.content, logprobs.content)
    all.refusal = grown(all.refusal, logprobs.refusal)
  }
}

/** The first list, longer: a new one for every token of a long answer would cost its square. */
function grown (list: unknown[] | null, more: readonly unknown[] | null | undefined): unknown[] | null {
  if (more === null || more === undefined) return list
  const all = list ?? []
  for (const item of more) all.push(item)
  return all
}

/** Text that streams is concatenated, lists grow, audio and a legacy call join part by part. */
function joined (key: string, before: unknown, value: unknown): unknown {
  if (before === undefined) return value
  switch (key) {
    case 'reasoning_content':
    case 'refusal':
      return `${before as string}${value as string}` // text by construction
    case 'annotations':
    case 'thinking_blocks':
      return [...before as unknown[], ...value as unknown[]] // ours: made in chunk
    case 'audio':
      return joinedParts(before, value, ['data', 'transcript'])
    case 'function_call':
      return joinedParts(before, value, ['arguments'])
    default:
      return value
  }
}

function joinedParts (before: unknown, value: unknown, texts: readonly string[]): Record<string, unknown> {
  const parts: Record<string, unknown> = { ...before as object } // objects by construction
  for (const [key, piece] of Object.entries(value as object)) {
    const whole = parts[key]
    parts[key] = texts.includes(key) && typeof whole === 'string' ? whole + String(piece) : piece
  }
  return parts
}
