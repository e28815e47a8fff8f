/**
 * Validates embedding requests and answers against the API descriptions.
 */

import { embeddingsReply } from '../../lib/replies/embeddings-reply.ts'
import { googleEmbeddings } from '../../lib/providers/google/embeddings.ts'
import { openaiEmbeddings } from '../../lib/providers/openai/embeddings.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { readBytes } from '../support/adapters.ts'
import { description } from '../support/description.ts'
import { routedCall } from '../support/stages.ts'
import type { Route } from '../../lib/core/route.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

const route: Route = { providerId: 'p', model: 'text-embedding-3-small', modelId: 'p/text-embedding-3-small' }

const requests: ReadonlyArray<Omit<EmbeddingsRequest, 'model'>> = [
  { input: 'hi' },
  { input: ['a', 'b'], encoding_format: 'base64', dimensions: 256, user: 'me' },
  { input: Array.from({ length: 250 }, () => 'x'), encoding_format: 'float' },
  { input: [1, 2, 3] },
  { input: [[1], [2, 3]] }
]

function askOf (request: Omit<EmbeddingsRequest, 'model'>): AdapterInput<EmbeddingsRequest> {
  return { request: { model: route.modelId, ...request }, route, quirks: {}, streamed: false }
}

const openai = description('openai.json')
const gemini = openai === undefined ? undefined : description('gemini.json')
if (openai !== undefined && gemini !== undefined) {
  for (const request of requests) {
    const ask = askOf(request)
    const name = JSON.stringify(request).slice(0, 60)
    openai.check('CreateEmbeddingRequest', JSON.parse(String(openaiEmbeddings.request(ask).body)), name)
    if (typeof [request.input].flat(2)[0] !== 'string') continue
    for (const part of googleEmbeddings.split?.(ask) ?? []) {
      gemini.check('BatchEmbedContentsRequest', JSON.parse(String(googleEmbeddings.request(part).body)), name)
    }
  }

  const request: EmbeddingsRequest = { model: route.modelId, input: ['a', 'b'] }
  const answers = [
    readBytes(
      openaiEmbeddings,
      Buffer.from('{"data":[{"embedding":[0.5]},{"embedding":"AAAAPw=="}]}'),
      askOf(request)
    ),
    readBytes(
      googleEmbeddings,
      Buffer.from('{"embeddings":[{"values":[1,2]},{"values":[3]}]}'),
      askOf(request)
    )
  ]
  for (const events of answers) {
    const call = routedCall(request, { routes: [route] })
    const { body } = await embeddingsReply()(once({ call, route, events }))
    openai.check(
      'CreateEmbeddingResponse',
      body instanceof Uint8Array ? JSON.parse(Buffer.from(body).toString()) : undefined,
      'the answer'
    )
  }
}
