/** Maps events to text-completion chunks; a complete answer merges all its chunks. */

import { completionUsage } from '../chat-completions/chunk.ts'
import { numberOf, objectOf, objectsOf } from '../../json/type-guards.ts'
import type { AnswerHead } from '../dialect.ts'
import type { ChatEvent, FinishReason, Logprobs } from '../../core/events.ts'
import type { TextCompletion, TextCompletionChoice, TextLogprobs } from '../../../schemas/text-completions.ts'

export class TextChunks {
  /** Fields of every chunk. */
  readonly head: Omit<TextCompletion, 'choices'>
  /** Length of the text so far, by choice. */
  readonly #lengths = new Map<number, number>()

  constructor ({ id, model, createdSeconds, fingerprint }: AnswerHead) {
    this.head = {
      id: id.replace('chatcmpl-', 'cmpl-'),
      object: 'text_completion',
      created: createdSeconds,
      model,
      ...fingerprint !== undefined && { system_fingerprint: fingerprint }
    }
  }

  /** Returns the chunk of an event; nothing for events without a counterpart, such as reasoning. */
  of (event: ChatEvent): TextCompletion | undefined {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return this.#chunk(this.#choice(event.choice, event.text, event.logprobs))
      case 'choice-end':
        return this.#chunk({ ...this.#choice(event.choice, ''), finish_reason: finishOf(event.reason) })
      case 'usage':
        return { ...this.head, choices: [], usage: completionUsage(event.usage) }
      case 'answer-start':
      case 'reasoning-delta':
      case 'thinking-block':
      case 'audio-delta':
      case 'tool-call-start':
      case 'tool-call-delta':
      case 'tool-call-end':
      case 'annotation-delta':
      case 'extra':
      case 'direct-frame':
      case 'direct-answer':
      case 'tool-result':
      case 'tools-listed':
      case 'tool-approval-needed':
      case 'tool-servers-failed':
        return undefined
      default:
        return event satisfies never
    }
  }

  /** Returns the ends of completions that a guard refused. */
  refused (): TextCompletion[] {
    return [...this.#lengths.keys()].map(index =>
      this.#chunk({ ...this.#choice(index, ''), finish_reason: 'content_filter' })
    )
  }

  #chunk (choice: TextCompletionChoice): TextCompletion {
    return { ...this.head, choices: [choice] }
  }

  #choice (index: number, text: string, logprobs?: Logprobs): TextCompletionChoice {
    const offset = this.#lengths.get(index) ?? 0
    this.#lengths.set(index, offset + text.length)
    return { index, text, logprobs: textLogprobs(logprobs, offset), finish_reason: null }
  }
}

function finishOf (reason: FinishReason): TextCompletionChoice['finish_reason'] {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop'
}

/** Returns log probabilities as four lists. @param offset of the first token in the text of its choice */
function textLogprobs (logprobs: Logprobs | undefined, offset: number): TextLogprobs | null {
  if (!Array.isArray(logprobs?.content)) return null
  const lists: TextLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
  let at = offset
  for (const entry of logprobs.content) {
    const { token, logprob, top_logprobs: top } = objectOf(entry) ?? {}
    const text = typeof token === 'string' ? token : ''
    lists.tokens.push(text)
    lists.token_logprobs.push(numberOf(logprob) ?? null)
    lists.top_logprobs.push(alternatives(top))
    lists.text_offset.push(at)
    at += text.length
  }
  return lists
}

function alternatives (top: unknown): Record<string, number> | null {
  const known = objectsOf(top).flatMap(({ token, logprob }) =>
    typeof token === 'string' && typeof logprob === 'number' ? [[token, logprob] as const] : []
  )
  return known.length === 0 ? null : Object.fromEntries(known)
}
