import { append } from '../../json/append.ts'
import { TextChunks } from './text-chunks.ts'
import type { AnswerStart, ChatBatch } from '../dialect.ts'
import type { TextCompletion, TextCompletionChoice, TextLogprobs } from '../../../schemas/text-completions.ts'

/** Creates one text completion from all batches of an answer. */
export function completeText ({ head }: AnswerStart, batches: readonly ChatBatch[]): TextCompletion {
  const chunks = new TextChunks(head)
  const choices = new Map<number, TextCompletionChoice>()
  let usage: TextCompletion['usage']
  for (const { events } of batches) {
    for (const event of events) {
      const chunk = chunks.of(event)
      usage = chunk?.usage ?? usage
      for (const piece of chunk?.choices ?? []) addPiece(piece, choices)
    }
  }
  return {
    ...chunks.head,
    choices: [...choices.values()].toSorted((a, b) => a.index - b.index),
    ...usage !== undefined && { usage }
  }
}

function addPiece (piece: TextCompletionChoice, choices: Map<number, TextCompletionChoice>): void {
  const choice = choices.get(piece.index)
  if (choice === undefined) return void choices.set(piece.index, piece)
  choice.text += piece.text
  choice.finish_reason ??= piece.finish_reason
  if (choice.logprobs === null) choice.logprobs = piece.logprobs
  else if (piece.logprobs !== null) addLogprobs(choice.logprobs, piece.logprobs)
}

function addLogprobs (all: TextLogprobs, more: TextLogprobs): void {
  append(all.tokens, more.tokens)
  append(all.token_logprobs, more.token_logprobs)
  append(all.top_logprobs, more.top_logprobs)
  append(all.text_offset, more.text_offset)
}
