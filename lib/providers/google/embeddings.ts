/**
 * Gemini embeddings: always batches of at most 100 texts; longer lists are split.
 *
 * @see https://ai.google.dev/api/embeddings
 */

import { inputsOf } from '../../embeddings/input.ts'
import { JsonCursor } from '../../json/json-cursor.ts'
import { readVector } from '../../embeddings/read-vector.ts'
import { jsonBody, jsonHeaders } from '../json-api.ts'
import { GatewayError } from '../../core/errors.ts'
import { possibleUsage, usageOfTokens, type Usage } from '../../core/usage.ts'
import { inBandError, readError } from './errors.ts'
import { countOf, objectOf } from '../../json/type-guards.ts'
import type { BatchEmbedContentsRequest } from './wire.ts'
import { invalidResponse, throwFailure } from '../provider-failure.ts'
import type { Adapter, AdapterInput, Join, UpstreamRequest } from '../provider.ts'
import type { EmbeddingsEvent, Vector } from '../../core/events.ts'
import type { EmbeddingsRequest } from '../../../schemas/embeddings.ts'

const maxBatch = 100

export const googleEmbeddings: Adapter<EmbeddingsRequest, EmbeddingsEvent> = {
  request: embeddingsRequest,
  read: (_head, adapterInput) => ({ as: 'bytes', read: bytes => readResponse(bytes, adapterInput) }),
  error: readError,
  split,
  join
}

/** `user` has no counterpart; the gateway does the base64 encoding. */
function embeddingsRequest (adapterInput: AdapterInput<EmbeddingsRequest>): UpstreamRequest {
  const { request: { dimensions }, route } = adapterInput
  const body: BatchEmbedContentsRequest = {
    requests: textsOf(adapterInput).map(text => ({
      model: `models/${route.model}`,
      content: { parts: [{ text }] },
      ...dimensions !== undefined && { outputDimensionality: dimensions }
    }))
  }
  return {
    method: 'POST',
    path: `/v1beta/models/${encodeURIComponent(route.model)}:batchEmbedContents`,
    headers: jsonHeaders,
    body: jsonBody(body, adapterInput)
  }
}

function textsOf ({ request: { input } }: AdapterInput<EmbeddingsRequest>): string[] {
  return inputsOf(input).map(text => {
    if (typeof text === 'string') return text
    throw new GatewayError('unsupported_parameter', {
      message: 'This model accepts text only, not tokens.', param: 'input'
    })
  })
}

function readResponse (bytes: Buffer, adapterInput: AdapterInput<EmbeddingsRequest>): EmbeddingsEvent[] {
  const cursor = new JsonCursor(bytes)
  let vectors: Vector[] = []
  let usage: unknown
  for (const key of cursor.keys()) {
    if (key === 'embeddings' && !cursor.isNull) vectors = readVectors(cursor, adapterInput)
    else if (key === 'usageMetadata') usage = cursor.parse()
    else cursor.skip()
  }
  cursor.end()
  if (vectors.length === 0) refuse(bytes)
  const count = textsOf(adapterInput).length
  const tokens = countOf(objectOf(usage)?.['promptTokenCount'])
  if (vectors.length !== count) {
    throw invalidResponse(`${vectors.length} vectors for ${count} inputs`).with({ usage: usageOf(tokens) })
  }
  return eventsOf(vectors, tokens)
}

function readVectors (cursor: JsonCursor, { request }: AdapterInput<EmbeddingsRequest>): Vector[] {
  const vectors: Vector[] = []
  for (const index of cursor.items()) {
    for (const key of cursor.keys()) {
      if (key === 'values') vectors[index] = readVector(cursor.take(), request.encoding_format ?? 'float')
      else cursor.skip()
    }
    if (vectors[index] === undefined) throw invalidResponse(`no vector for input ${index}`)
  }
  return vectors
}

function eventsOf (vectors: readonly Vector[], tokens: number | undefined): EmbeddingsEvent[] {
  const events: EmbeddingsEvent[] = [{ type: 'embeddings', vectors }]
  const usage = usageOf(tokens)
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

function usageOf (tokens: number | undefined): Usage | undefined {
  return tokens === undefined ? undefined : possibleUsage(usageOfTokens(tokens, 0))
}

/** Throws the error that some servers send with status 200. */
function refuse (bytes: Buffer): never {
  throwFailure(inBandError(objectOf(new JsonCursor(bytes).parse()) ?? {}), 'the response has no vectors')
}

function split (adapterInput: AdapterInput<EmbeddingsRequest>): Array<AdapterInput<EmbeddingsRequest>> {
  const texts = textsOf(adapterInput)
  const parts: Array<AdapterInput<EmbeddingsRequest>> = []
  for (let at = 0; at < texts.length; at += maxBatch) {
    parts.push({
      ...adapterInput,
      request: { ...adapterInput.request, input: texts.slice(at, at + maxBatch) }
    })
  }
  return parts
}

/** Returns all vectors in order; total usage only if every part reported its own. */
function join (parts: number): Join<EmbeddingsEvent> {
  const lists: Array<readonly Vector[]> = []
  let tokens = 0
  let reports = 0
  return {
    read: (part, events) => {
      for (const event of events) {
        if (event.type === 'embeddings') {
          lists[part] = event.vectors
        } else {
          tokens += event.usage.promptTokens
          reports++
        }
      }
    },
    end: into => {
      for (const event of eventsOf(lists.flat(), reports === parts ? tokens : undefined)) into.push(event)
    }
  }
}
