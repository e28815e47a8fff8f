import t from 'tap'
import { base64Of } from '../../lib/embeddings/read-vector.ts'
import { embeddingsReply } from '../../lib/replies/embeddings-reply.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import { countTurns } from '../support/turns.ts'
import type { EmbeddingsEvent } from '../../lib/core/events.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

const request: EmbeddingsRequest = { input: 'a', model: 'm' }
const floats = (text: string): EmbeddingsEvent => ({ type: 'embeddings', vectors: [{ form: 'float', json: Buffer.from(text) }] })

t.test('vectors are the list of the API, with the model and what was used', async t => {
  const call = routedCall(request)
  call.record.usage = { promptTokens: 3, completionTokens: 0, totalTokens: 3 }
  const { status, headers, body } = await embeddingsReply()(batchesOf(call, [[floats('[0.10]'), floats('[2]')]]))
  t.strictSame([status, headers], [200, { 'content-type': 'application/json; charset=utf-8' }])
  t.equal(String(body as Buffer), '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10]},{"object":"embedding","index":1,"embedding":[2]}],"model":"one/m","usage":{"prompt_tokens":3,"total_tokens":3}}')
})

t.test('they come in the form that was requested; usage that is not known is none', async t => {
  const { body } = await embeddingsReply()(batchesOf(routedCall<EmbeddingsRequest>({ ...request, encoding_format: 'base64' }), [[floats('[1]')]]))
  t.strictSame(JSON.parse(String(body as Buffer)), {
    object: 'list', data: [{ object: 'embedding', index: 0, embedding: base64Of([1]) }], model: 'one/m', usage: { prompt_tokens: 0, total_tokens: 0 }
  })
})

t.test('many vectors are written one by one, and other calls run between those that are converted', async t => {
  const vector = `"${base64Of(Array.from({ length: 2000 }, () => 0.5))}"`
  const vectors = Array.from({ length: 30 }, () => ({ form: 'base64' as const, json: Buffer.from(vector) }))
  const { body } = await embeddingsReply()(batchesOf(routedCall(request), [[{ type: 'embeddings', vectors }]]))
  const turns = countTurns(t)
  const pieces = await collect(body as AsyncIterable<Buffer | string>)
  t.ok(turns() >= 25, `${turns()} turns for 30 vectors`)
  t.same((JSON.parse(pieces.join('')) as { data: unknown[] }).data.length, 30)
})

t.test('a pipeline without an answer is a fault of ours', async t => {
  await t.rejects(embeddingsReply()(batchesOf(routedCall(request), [])), { code: 'internal_error' })
})
