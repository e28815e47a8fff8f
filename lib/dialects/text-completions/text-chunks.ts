/** Maps events to text-completion chunks; a complete answer merges all its chunks. */

import { completionUsage } from '../chat-completions/chunk.ts'
import { textLogprobs } from './text-logprobs.ts'
import type { AnswerHead } from '../dialect.ts'
import type { ChatEvent, FinishReason, Logprobs } from '../../core/events.ts'
import type { TextCompletion, TextCompletionChoice } from '../../../schemas/text-completions.ts'

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
