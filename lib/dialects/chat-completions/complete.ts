import { ChunkBuilder, addReportedFields, completionUsage, type Chunk } from './chunk.ts'
import type { AnswerHead } from '../dialect.ts'
import { foldChunks, type Completion } from './fold.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { CompletionChoice, CompletionUsage } from '../../../schemas/completion.ts'

type Batches = ReadonlyArray<{ readonly events: readonly ChatEvent[] }>

/**
 * Makes one `chat.completion` of all batches of an answer.
 *
 * @param batches of `normalise`: the first event is a complete `response-start`
 */
export function toCompletion (batches: Batches): Completion {
  const head = batches[0]?.events[0] as AnswerHead // by normalise
  return textCompletion(head, batches) ?? foldedCompletion(head, batches)
}

/** Folds the chunks that a stream of the same answer would have. */
export function foldedCompletion (head: AnswerHead, batches: Batches): Completion {
  const chunks = new ChunkBuilder(head, true)
  const all: Chunk[] = []
  for (const { events } of batches) {
    for (const event of events) all.push(...chunks.of(event))
  }
  all.push(...chunks.end())
  return foldChunks(all)
}

/**
 * Makes the completion of an answer that is text and nothing else, as most are, without its chunks: 0.4 µs instead
 * of 2.5. Returns `undefined` for any other.
 */
function textCompletion (head: AnswerHead, batches: Batches): Completion | undefined {
  const choices = new Map<number, CompletionChoice>()
  let usage: CompletionUsage | undefined
  const choiceOf = (index: number): CompletionChoice => {
    const known = choices.get(index)
    if (known !== undefined) return known
    const choice: CompletionChoice = { index, message: { role: 'assistant', content: '', refusal: null }, logprobs: null, finish_reason: null }
    choices.set(index, choice)
    return choice
  }
  for (const { events } of batches) {
    for (const event of events) {
      switch (event.type) {
        case 'response-start':
          break
        case 'text-delta': {
          if (event.logprobs !== undefined) return undefined
          const { message } = choiceOf(event.choice)
          message.content = `${message.content ?? ''}${event.text}`
          break
        }
        case 'choice-end':
          choiceOf(event.choice).finish_reason = event.reason
          break
        case 'usage':
          usage = completionUsage(event.usage)
          break
        default:
          return undefined
      }
    }
  }
  if (choices.size === 0) return undefined
  // Without spreads: a completion then has one of a few shapes, which costs 1 µs less to make and to print.
  const completion: Completion = {
    id: head.id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.model,
    choices: choices.size === 1 ? [...choices.values()] : [...choices.values()].toSorted((a, b) => a.index - b.index)
  }
  addReportedFields(completion, head)
  if (usage !== undefined) completion.usage = usage
  return completion
}
