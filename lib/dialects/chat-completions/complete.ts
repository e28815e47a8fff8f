/** Folds the chunks of an answer into one completion. */

import { addReasoningDetails } from '../../chat/reasoning-details.ts'
import { textOfValue, type JsonObject } from '../../json/type-guards.ts'
import { ChunkBuilder, type Chunk } from './chunk.ts'
import type { AnswerHead } from '../dialect.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { UsageCost } from '../../core/usage.ts'
import type {
  AnswerMessage,
  AnswerToolCall,
  ChatCompletion,
  ChoiceLogprobs,
  ChunkChoice,
  CompletionChoice,
  FinishReason,
  ToolCallDelta
} from '../../../schemas/chat-completion.ts'

type Fields = Record<string, unknown>

/** Includes unknown provider fields. */
export type Completion = ChatCompletion & Fields

/** Chunk fields that are folded individually; others are copied. */
const chunkFields = new Set(['id', 'object', 'created', 'model', 'choices', 'usage'])
const choiceFields = new Set(['index', 'delta', 'logprobs', 'finish_reason'])

type Batches = ReadonlyArray<{ readonly events: readonly ChatEvent[] }>

/**
 * Folds all batches of an answer into one `chat.completion`.
 *
 * @param batches from `normalise`: the first event is a complete `answer-start`
 * @param costOf returns the cost to show in `usage`. Default: none
 */
export function toCompletion (batches: Batches, costOf?: () => UsageCost | undefined): Completion {
  const builder = new ChunkBuilder(batches[0]?.events[0] as AnswerHead, true, costOf) // by normalise
  const chunks: Chunk[] = []
  for (const { events } of batches) for (const event of events) chunks.push(...builder.of(event))
  return foldChunks([...chunks, ...builder.end()])
}

/**
 * Folds the chunks of an answer, in order, into a complete answer. Choices are ordered by index; `refusal` is
 * always present.
 *
 * @throws TypeError without chunks: an answer starts with at least one
 */
export function foldChunks (chunks: readonly Chunk[]): Completion {
  const [first] = chunks
  if (first === undefined) throw new TypeError('an answer has at least one chunk')
  const { id, created, model } = first
  const answer: Completion = { id, object: 'chat.completion', created, model, choices: [] }
  const choices = new Map<number, ChoiceFold>()
  for (const chunk of chunks) {
    for (const key in chunk) if (!chunkFields.has(key)) answer[key] = chunk[key]
    for (const piece of chunk.choices) {
      let choice = choices.get(piece.index)
      if (choice === undefined) choices.set(piece.index, choice = new ChoiceFold(piece.index))
      choice.add(piece)
    }
    if (chunk.usage !== undefined && chunk.usage !== null) answer.usage = chunk.usage
  }
  answer.choices = [...choices.values()].toSorted((a, b) => a.index - b.index).map(choice => choice.result())
  return answer
}

/**
 * Folds one choice. Accumulated values are modified in place: copying for each chunk would take quadratic
 * time.
 */
class ChoiceFold {
  readonly index: number
  readonly #calls: ToolCallDelta[] = []
  readonly #message: Fields = {}
  readonly #extra: Fields = {}
  readonly #annotations = new Map<string, unknown>()
  readonly #blocks: unknown[] = []
  readonly #details: JsonObject[] = []
  #content = ''
  #logprobs: ChoiceLogprobs | null = null
  #finish: FinishReason | null = null

  constructor (index: number) {
    this.index = index
  }

  add (choice: ChunkChoice): void {
    const { delta } = choice
    for (const key in delta) {
      switch (key) {
        case 'role': break
        case 'content':
          this.#content += delta.content ?? ''
          break
        case 'reasoning_content':
        case 'refusal':
          this.#message[key] = `${textIn(this.#message, key)}${delta[key] ?? ''}`
          break
        case 'tool_calls':
          for (const call of delta.tool_calls ?? []) this.#addCall(call)
          break
        case 'annotations':
          // Some providers repeat all annotations in every chunk.
          for (const annotation of delta.annotations ?? []) {
            this.#annotations.set(JSON.stringify(annotation), annotation)
          }
          break
        case 'thinking_blocks':
          for (const block of delta.thinking_blocks ?? []) this.#blocks.push(block)
          break
        case 'reasoning_details':
          addReasoningDetails(this.#details, Reflect.get(delta, key))
          break
        case 'audio':
          this.#join(key, delta.audio ?? {}, audioTexts)
          break
        case 'function_call':
          this.#join(key, delta.function_call ?? {}, callTexts)
          break
        default:
          this.#message[key] = Reflect.get(delta, key)
      }
    }
    if (choice.logprobs !== null) this.#addLogprobs(choice.logprobs)
    this.#finish = choice.finish_reason ?? this.#finish
    for (const key in choice) if (!choiceFields.has(key)) this.#extra[key] = Reflect.get(choice, key)
  }

  result (): CompletionChoice {
    const message = this.#message
    if (this.#annotations.size > 0) message['annotations'] = [...this.#annotations.values()]
    if (this.#blocks.length > 0) message['thinking_blocks'] = this.#blocks
    if (this.#details.length > 0) message['reasoning_details'] = this.#details
    const calls = this.#calls.filter(call => call !== undefined).map(({ index: _, ...call }) => call)
    const hasOtherContent =
      calls.length > 0 || 'function_call' in message || 'refusal' in message || 'audio' in message
    const fields: AnswerMessage = {
      role: 'assistant',
      // Without text, content is null next to a call, refusal or audio, else empty.
      content: this.#content === '' && hasOtherContent ? null : this.#content,
      refusal: null,
      ...message
    }
    // each began with its id, type and name
    if (calls.length > 0) fields.tool_calls = calls as AnswerToolCall[]
    return {
      index: this.index,
      message: fields,
      logprobs: this.#logprobs,
      finish_reason: this.#finish,
      ...this.#extra
    }
  }

  /** Merges an object that comes in parts: strings are concatenated, other fields replaced. */
  #join (key: string, parts: object, texts: ReadonlySet<string>): void {
    const joined = (this.#message[key] ??= {}) as Fields // created here
    for (const [name, part] of Object.entries(parts)) {
      joined[name] = texts.has(name) ? textIn(joined, name) + textOfValue(part) : part
    }
  }

  #addCall (delta: ToolCallDelta): void {
    const call = this.#calls[delta.index]
    if (call === undefined) {
      // Copy before appending: the chunk may also be printed.
      const { function: called, custom } = delta
      const own: ToolCallDelta = { ...delta }
      if (called !== undefined) own.function = { ...called }
      if (custom !== undefined) own.custom = { ...custom }
      this.#calls[delta.index] = own
      return
    }
    if (call.function !== undefined) {
      call.function.arguments = (call.function.arguments ?? '') + (delta.function?.arguments ?? '')
    }
    if (call.custom !== undefined) call.custom.input = (call.custom.input ?? '') + (delta.custom?.input ?? '')
  }

  #addLogprobs (logprobs: ChoiceLogprobs): void {
    const all = this.#logprobs ??= { content: null, refusal: null }
    all.content = appended(all.content, logprobs.content)
    all.refusal = appended(all.refusal, logprobs.refusal)
  }
}

const audioTexts = new Set(['data', 'transcript'])
const callTexts = new Set(['arguments'])

function textIn (fields: Fields, key: string): string {
  const text = fields[key]
  return typeof text === 'string' ? text : ''
}

/** Returns the first list with the items of the second appended. */
function appended<T> (list: T[] | null | undefined, more: readonly T[] | null | undefined): T[] | null {
  if (more === null || more === undefined) return list ?? null
  const all = list ?? []
  for (const item of more) all.push(item)
  return all
}
