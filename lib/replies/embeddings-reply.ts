/** Ends the embeddings pipeline: vectors as the list the API answers with. */

import { scheduler } from 'node:timers/promises'
import { printVector } from '../embeddings/read-vector.ts'
import type { Vector, VectorForm } from '../core/vector.ts'
import { emptyPipeline } from '../core/errors.ts'
import type { Batch } from '../core/batch.ts'
import type { EmbeddingsEvent } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'
import { jsonHeaders, type Reply } from '../core/reply.ts'
import type { Sink } from '../core/stage.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

/** Above this, pieces are written as they are instead of being put together first. */
const minStreamedBytes = 256 * 1024
/** Longer texts are vectors that were converted. */
const turnBytes = 1024
const noUsage: Usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }

/** Takes the one batch of an answer, whose usage is in the record of its call by then. */
export function embeddingsReply (): Sink<Batch<EmbeddingsRequest, EmbeddingsEvent>, Reply> {
  return async source => {
    for await (const { call, route, events } of source) {
      const { request, record } = call
      const vectors: Vector[] = []
      for (const event of events) {
        if (event.type !== 'usage') vectors.push(...event.vectors)
      }
      const pieces = printed(vectors, request.encoding_format ?? 'float', route.modelId, record.usage ?? noUsage)
      const isLarge = vectors.reduce((bytes, { json }) => bytes + json.length, 0) > minStreamedBytes
      return { status: 200, headers: jsonHeaders, body: isLarge ? inTurns(pieces) : Buffer.concat([...pieces].map(bytesOf)) }
    }
    throw emptyPipeline()
  }
}

/** Yields the text of the answer in pieces; the bytes of a vector are a piece of their own, not copied. */
function * printed (
  vectors: readonly Vector[], form: VectorForm, model: string, { promptTokens, totalTokens }: Usage
): Generator<Buffer | string, void, undefined> {
  yield '{"object":"list","data":['
  for (const [index, vector] of vectors.entries()) {
    yield `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`
    yield printVector(vector, form)
    yield '}'
  }
  yield `],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${promptTokens},"total_tokens":${totalTokens}}}`
}

function bytesOf (piece: Buffer | string): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}

/** Converting many vectors takes long, so other calls run after each; bytes are ready. */
async function * inTurns (pieces: Iterable<Buffer | string>): AsyncGenerator<Buffer | string, void, undefined> {
  for (const piece of pieces) {
    yield piece
    if (piece.length > turnBytes && typeof piece === 'string') await scheduler.yield()
  }
}
