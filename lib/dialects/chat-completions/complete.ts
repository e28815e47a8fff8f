import { ChunkBuilder, type Chunk } from './chunk.ts'
import { foldChunks, type Completion } from './fold.ts'
import type { AnswerHead } from '../dialect.ts'
import type { ChatEvent } from '../../core/events.ts'

type Batches = ReadonlyArray<{ readonly events: readonly ChatEvent[] }>

/**
 * Makes one `chat.completion` of all batches of an answer, by folding the chunks that a stream of it would have.
 *
 * @param batches of `normalise`: the first event is a complete `response-start`
 */
export function toCompletion (batches: Batches): Completion {
  const head = batches[0]?.events[0] as AnswerHead // by normalise
  return foldChunks(chunksOf(new ChunkBuilder(head, true), batches))
}

function * chunksOf (chunks: ChunkBuilder, batches: Batches): Generator<Chunk, void, undefined> {
  for (const { events } of batches) for (const event of events) yield * chunks.of(event)
  yield * chunks.end()
}
