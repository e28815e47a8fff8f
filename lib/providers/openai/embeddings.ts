/**
 * Embeddings as OpenAI defined them and most servers implement them. Only the fields named here are sent.
 *
 * @see https://platform.openai.com/docs/api-reference/embeddings
 */

import { countInputs } from '../../embeddings/input.ts'
import { JsonCursor } from '../../json/json-cursor.ts'
import { readVector } from '../../embeddings/read-vector.ts'
import { jsonBody, jsonHeaders, withReportedUsage } from '../json-api.ts'
import { inBandError, readError } from '../chat-completions/errors.ts'
import { readUsage } from '../chat-completions/usage.ts'
import { numberOf, objectOf } from '../../json/type-guards.ts'
import { invalidResponse, throwFailure } from '../provider-failure.ts'
import type { Adapter, AdapterInput, UpstreamRequest } from '../provider.ts'
import type { EmbeddingsEvent, Vector, VectorForm } from '../../core/events.ts'
import type { EmbeddingsRequest } from '../../../schemas/embeddings.ts'

export const openaiEmbeddings: Adapter<EmbeddingsRequest, EmbeddingsEvent> = {
  request: embeddingsRequest,
  read: (_head, adapterInput) => ({ as: 'bytes', read: bytes => readResponse(bytes, adapterInput) }),
  error: readError
}

function embeddingsRequest (adapterInput: AdapterInput<EmbeddingsRequest>): UpstreamRequest {
  const { request, route, quirks } = adapterInput
  const { input, encoding_format: form, dimensions, user } = request
  const body: Record<string, unknown> = { model: route.model, input }
  if (form !== undefined && quirks.base64Embeddings !== false) body['encoding_format'] = form
  if (dimensions !== undefined) body[quirks.rename?.['dimensions'] ?? 'dimensions'] = dimensions
  if (user !== undefined && quirks.omit?.includes('user') !== true) body['user'] = user
  return {
    method: 'POST',
    path: '/embeddings',
    headers: jsonHeaders,
    body: jsonBody(body, adapterInput)
  }
}

interface Item { index: number | undefined, vector: Vector }

/** Returns one `embeddings` event with a vector per input, in input order; then `usage`, if reported. */
function readResponse (bytes: Buffer, { request }: AdapterInput<EmbeddingsRequest>): EmbeddingsEvent[] {
  const wanted = request.encoding_format ?? 'float'
  const cursor = new JsonCursor(bytes)
  let items: Item[] = []
  let usage: unknown
  for (const key of cursor.keys()) {
    if (key === 'data' && !cursor.isNull) items = readItems(cursor, wanted)
    else if (key === 'usage') usage = cursor.parse()
    else cursor.skip()
  }
  cursor.end()
  if (items.length === 0) refuse(bytes)
  // There is no completion, and some servers report the total alone.
  const reported = readUsage({ ...objectOf(usage), completion_tokens: 0 })
  const vectors = withReportedUsage(() => reported, () => inOrder(items, countInputs(request.input)))
  return [
    { type: 'embeddings', vectors },
    ...(reported === undefined ? [] : [{ type: 'usage' as const, usage: reported }])
  ]
}

function readItems (cursor: JsonCursor, wanted: VectorForm): Item[] {
  const items: Item[] = []
  for (const _ of cursor.items()) {
    let index: unknown
    let vector: Vector | undefined
    for (const key of cursor.keys()) {
      if (key === 'index') index = cursor.parse()
      else if (key === 'embedding') vector = readVector(cursor.take(), wanted)
      else cursor.skip()
    }
    if (vector === undefined) throw invalidResponse('an item without a vector')
    items.push({ index: numberOf(index), vector })
  }
  return items
}

/** Sorts by index; without any indexes, keeps the order. */
function inOrder (items: readonly Item[], count: number): Vector[] {
  if (items.length !== count) throw invalidResponse(`${items.length} vectors for ${count} inputs`)
  if (items.every(({ index }) => index === undefined)) return items.map(({ vector }) => vector)
  const vectors = new Map<number, Vector>()
  for (const { index = -1, vector } of items) vectors.set(index, vector)
  return items.map((_, index) => {
    const vector = vectors.get(index)
    if (vector === undefined) throw invalidResponse(`no vector for input ${index}`)
    return vector
  })
}

/** Throws the error that some servers send with status 200. */
function refuse (bytes: Buffer): never {
  throwFailure(
    inBandError(objectOf(new JsonCursor(bytes).parse()) ?? {}, false),
    'the response has no vectors'
  )
}
