/** Ends the embeddings pipeline: replies with the vectors as a list. */

import { scheduler } from 'node:timers/promises'
import { printVector } from '../embeddings/read-vector.ts'
import type { Batch } from '../core/call.ts'
import type { EmbeddingsEvent, Vector, VectorForm } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'
import { jsonReplyHeaders, type Reply } from '../core/reply.ts'
import { replyWith } from './reply-with.ts'
import type { Sink } from '../pipeline/stage.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

/** Larger replies are written piece by piece instead of being joined first. */
const minStreamedBytes = 256 * 1024
/** Small pieces are joined up to this size: writing one costs more than copying it. */
const pieceBytes = 64 * 1024
/** Longer texts are converted vectors. */
const tickBytes = 1024
const noUsage: Usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }

/** Takes the single batch of an answer, whose usage is in the call's record by then. */
export function embeddingsReply (): Sink<Batch<EmbeddingsRequest, EmbeddingsEvent>, Reply> {
  return replyWith(({ call: { request, record }, route, events }) => {
    const vectors = events.flatMap(event => event.type === 'usage' ? [] : event.vectors)
    const pieces = printed(
      vectors,
      request.encoding_format ?? 'float',
      route.modelId,
      record.usage.total ?? noUsage
    )
    const isLarge = vectors.reduce((bytes, { json }) => bytes + json.length, 0) > minStreamedBytes
    return {
      status: 200,
      headers: jsonReplyHeaders,
      body: isLarge ? inSlices(pieces) : Buffer.concat([...pieces].map(bytesOf))
    }
  })
}

/**
 * Yields the text of the answer in pieces. Consecutive vectors of the provider's answer that need no change
 * are one piece, and are not copied.
 */
function * printed (
  vectors: readonly Vector[], form: VectorForm, model: string, { promptTokens, totalTokens }: Usage
): Generator<Buffer | string, void, undefined> {
  yield '{"object":"list","data":['
  let last: Buffer | string = ''
  for (const [index, vector] of vectors.entries()) {
    const json = printVector(vector, form)
    const before = `${index === 0 ? '' : '},'}{"object":"embedding","index":${index},"embedding":`
    const joint = joined(last, before, json)
    if (joint === undefined) {
      yield last
      yield before
    }
    last = joint ?? json
  }
  yield last
  yield `${vectors.length === 0 ? '' : '}'}],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${promptTokens},"total_tokens":${totalTokens}}}`
}

/** Returns two pieces and the text between them, if all three are consecutive in memory. */
function joined (one: Buffer | string, between: string, other: Buffer | string): Buffer | undefined {
  if (typeof one === 'string' || typeof other === 'string' || one.buffer !== other.buffer) return undefined
  if (other.byteOffset - one.byteOffset - one.length !== between.length) return undefined
  const all = Buffer.from(one.buffer, one.byteOffset, one.length + between.length + other.length)
  return all.toString('latin1', one.length, one.length + between.length) === between ? all : undefined
}

function bytesOf (piece: Buffer | string): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}

/** Converting many vectors takes long, so other calls run between them. Bytes need no conversion. */
async function * inSlices (pieces: Iterable<Buffer | string>): AsyncGenerator<Buffer, void, undefined> {
  let waiting: Buffer[] = []
  let sizeBytes = 0
  for (const piece of pieces) {
    const bytes = bytesOf(piece)
    if (sizeBytes > 0 && sizeBytes + bytes.length > pieceBytes) {
      yield together(waiting)
      waiting = []
      sizeBytes = 0
    }
    waiting.push(bytes)
    sizeBytes += bytes.length
    if (piece.length > tickBytes && typeof piece === 'string') await scheduler.yield()
  }
  yield together(waiting)
}

function together (pieces: readonly Buffer[]): Buffer {
  const [first] = pieces
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
}
