import { ChunkBuilder, type Chunk } from './chunk.ts'
import type { AnswerHead } from '../dialect.ts'
import { foldChunks, type Completion } from './fold.ts'
import type { ChatEvent } from '../../core/events.ts'

/**
 * Folds all batches of one answer into a `chat.completion`.
 *
 * @param batches of `normalise`: the first event is a complete `response-start`
 */
export function toCompletion (batches: ReadonlyArray<{ readonly events: readonly ChatEvent[] }>): Completion {
  const chunks = new ChunkBuilder(batches[0]?.events[0] as AnswerHead, true) // by normalise
  const all: Chunk[] = []
  for (const { events } of batches) {
    for (const event of events) all.push(...chunks.of(event))
  }
  all.push(...chunks.end())
  return foldChunks(all)
}
