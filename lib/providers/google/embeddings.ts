/**
 * Embeddings of Gemini: always as a batch, of at most a hundred texts, so longer lists are asked
 * for in slices.
 *
 * @see https://ai.google.dev/api/embeddings
 */

import { aboutInput, inputsOf } from '../../embeddings/input.ts'
import { JsonOutline } from '../../json/outline.ts'
import { readVector } from '../../embeddings/read-vector.ts'
import type { Vector } from '../../core/vector.ts'
import { GatewayError } from '../../core/errors.ts'
import { inBandError, readError } from './errors.ts'
import { objectOf } from '../../json/guards.ts'
import type { BatchEmbedContentsRequest } from './wire.ts'
import { bytesOf, type Adapter, type Ask, type UpstreamRequest } from '../provider.ts'
import type { EmbeddingsEvent } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { EmbeddingsRequest } from '../../../schemas/embeddings.ts'

const longestBatch = 100

export const googleEmbeddings: Adapter<EmbeddingsRequest, EmbeddingsEvent> = {
  request: embeddingsRequest,
  reads: 'bytes',
  response: (body, ask) => readAnswer(bytesOf(body), ask),
  stream: () => { throw new GatewayError('upstream_invalid_response', { cause: 'a stream of vectors' }) },
  error: failure => aboutInput(readError(failure)),
  slices: { split, join }
}

function split (ask: Ask<EmbeddingsRequest>): Array<Ask<EmbeddingsRequest>> {
  const texts = textsOf(ask)
  const slices: Array<Ask<EmbeddingsRequest>> = []
  for (let at = 0; at < texts.length; at += longestBatch) {
    slices.push({ ...ask, request: { ...ask.request, input: texts.slice(at, at + longestBatch) } })
  }
  return slices
}

/** All vectors in order; a sum of tokens only when every slice reported its own. */
function join (answers: readonly EmbeddingsEvent[][]): EmbeddingsEvent[] {
  const vectors: Vector[] = []
  const usages: Usage[] = []
  for (const event of answers.flat()) {
    if (event.type === 'usage') usages.push(event.usage)
    else vectors.push(...event.vectors)
  }
  const tokens = usages.reduce((sum, { promptTokens }) => sum + promptTokens, 0)
  return eventsOf(vectors, usages.length === answers.length ? tokens : undefined)
}

/** `user` has no place here; base64 is made by the gateway. */
function embeddingsRequest (ask: Ask<EmbeddingsRequest>): UpstreamRequest {
  const { request: { dimensions }, route } = ask
  const body: BatchEmbedContentsRequest = {
    requests: textsOf(ask).map(text => ({
      model: `models/${route.model}`,
      content: { parts: [{ text }] },
      ...(dimensions === undefined ? {} : { outputDimensionality: dimensions })
    }))
  }
  return {
    method: 'POST',
    path: `/v1beta/models/${encodeURIComponent(route.model)}:batchEmbedContents`,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body)
  }
}

function textsOf ({ request: { input } }: Ask<EmbeddingsRequest>): string[] {
  return inputsOf(input).map(text => {
    if (typeof text === 'string') return text
    throw new GatewayError('unsupported_parameter', {
      message: 'This model takes texts: tokens of another vocabulary mean nothing to it.', param: 'input'
    })
  })
}

function readAnswer (bytes: Buffer, ask: Ask<EmbeddingsRequest>): EmbeddingsEvent[] {
  const answer = new JsonOutline(bytes)
  let vectors: Vector[] = []
  let usage: unknown
  for (const key of answer.keys()) {
    if (key === 'embeddings' && !answer.isNull) vectors = readVectors(answer, ask)
    else if (key === 'usageMetadata') usage = answer.parse()
    else answer.skip()
  }
  answer.end()
  if (vectors.length === 0) throw errorIn(bytes)
  const count = textsOf(ask).length
  if (vectors.length !== count) throw invalid(`${vectors.length} vectors for ${count} inputs`)
  const tokens = objectOf(usage)?.['promptTokenCount']
  return eventsOf(vectors, typeof tokens === 'number' ? tokens : undefined)
}

function readVectors (answer: JsonOutline, { request }: Ask<EmbeddingsRequest>): Vector[] {
  const vectors: Vector[] = []
  for (const index of answer.items()) {
    for (const key of answer.keys()) {
      if (key === 'values') vectors[index] = readVector(answer.take(), request.encoding_format ?? 'float')
      else answer.skip()
    }
    if (vectors[index] === undefined) throw invalid(`no vector for input ${index}`)
  }
  return vectors
}

function eventsOf (vectors: readonly Vector[], tokens: number | undefined): EmbeddingsEvent[] {
  const events: EmbeddingsEvent[] = [{ type: 'embeddings', vectors }]
  if (tokens !== undefined) {
    events.push({ type: 'usage', usage: { promptTokens: tokens, completionTokens: 0, totalTokens: tokens } })
  }
  return events
}

function errorIn (bytes: Buffer): GatewayError {
  return inBandError(objectOf(new JsonOutline(bytes).parse()) ?? {}) ?? invalid('no vectors')
}

function invalid (cause: string): GatewayError {
  return new GatewayError('upstream_invalid_response', { cause })
}
