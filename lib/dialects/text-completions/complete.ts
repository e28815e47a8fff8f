import { TextChunks } from './text-chunks.ts'
import type { AnswerStart, ChatBatch } from '../dialect.ts'
import type { TextCompletion, TextCompletionChoice, TextLogprobs } from '../../../schemas/text-completions.ts'

/** Makes one text completion of all batches of an answer. */
export function completeText ({ head }: AnswerStart, batches: readonly ChatBatch[]): TextCompletion {
  const chunks = new TextChunks(head)
  const choices = new Map<number, TextCompletionChoice>()
  let usage: TextCompletion['usage']
  for (const { events } of batches) {
    for (const event of events) {
      const chunk = chunks.of(event)
      usage = chunk?.usage ?? usage
      for (const piece of chunk?.choices ?? []) append(piece, choices)
    }
  }
  return {
    ...chunks.head,
    choices: [...choices.values()].toSorted((a, b) => a.index - b.index),
    ...usage !== undefined && { usage }
  }
}

function append (piece: TextCompletionChoice, choices: Map<number, TextCompletionChoice>): void {
  const choice = choices.get(piece.index)
  if (choice === undefined) return void choices.set(piece.index, piece)
  choice.text += piece.text
  choice.finish_reason ??= piece.finish_reason
  if (choice.logprobs === null) choice.logprobs = piece.logprobs
  else if (piece.logprobs !== null) addLogprobs(choice.logprobs, piece.logprobs)
}

function addLogprobs (all: TextLogprobs, more: TextLogprobs): void {
  all.tokens.push(...more.tokens)
  all.token_logprobs.push(...more.token_logprobs)
  all.top_logprobs.push(...more.top_logprobs)
  all.text_offset.push(...more.text_offset)
}
