import fc from 'fast-check'
import t from 'tap'
import { base64Of } from '../../lib/embeddings/read-vector.ts'
import { embeddingsReply } from '../../lib/replies/embeddings-reply.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import { countTurns } from '../support/turns.ts'
import type { EmbeddingsEvent } from '../../lib/core/events.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import { rounds } from '../support/rounds.ts'

const request: EmbeddingsRequest = { input: 'a', model: 'm' }
const floats = (text: string): EmbeddingsEvent => ({
  type: 'embeddings',
  vectors: [{ form: 'float', json: Buffer.from(text) }]
})

t.test('vectors become the list of the API, with the model and the usage', async t => {
  const call = routedCall(request)
  call.record.usage.total = { promptTokens: 3, completionTokens: 0, totalTokens: 3 }
  const { status, headers, body } = await embeddingsReply()(
    batchesOf(call, [[floats('[0.10]'), floats('[2]')]])
  )
  t.strictSame([status, headers], [200, { 'content-type': 'application/json; charset=utf-8' }])
  t.equal(
    String(body as Buffer),
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10]},{"object":"embedding","index":1,"embedding":[2]}],"model":"one/m","usage":{"prompt_tokens":3,"total_tokens":3}}'
  )
})

t.test('vectors have the requested format; unknown usage is omitted', async t => {
  const { body } = await embeddingsReply()(
    batchesOf(routedCall<EmbeddingsRequest>({ ...request, encoding_format: 'base64' }), [[floats('[1]')]])
  )
  t.strictSame(JSON.parse(String(body as Buffer)), {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: base64Of([1]) }],
    model: 'one/m',
    usage: { prompt_tokens: 0, total_tokens: 0 }
  })
})

t.test(
  'many vectors are written in pieces, and other calls run between conversions',
  async t => {
    const vector = `"${base64Of(Array.from({ length: 2000 }, () => 0.5))}"`
    const vectors = Array.from({ length: 30 }, () => ({
      form: 'base64' as const,
      json: Buffer.from(vector)
    }))
    const { body } = await embeddingsReply()(
      batchesOf(routedCall(request), [[{ type: 'embeddings', vectors }]])
    )
    const turns = countTurns(t)
    const pieces = await collect(body as AsyncIterable<Buffer | string>)
    t.ok(turns() >= 25, `${turns()} turns for 30 vectors`)
    t.same((JSON.parse(pieces.join('')) as { data: unknown[] }).data.length, 30)
  }
)

/** Vectors as in the provider's answer, each preceded by the given text. */
function vectorsIn (
  parts: ReadonlyArray<readonly [before: string, json: string]>
): Array<{ form: 'float', json: Buffer }> {
  const answer = Buffer.from(parts.map(part => part.join('')).join(''))
  let at = 0
  return parts.map(([before, json]) => {
    const start = at + Buffer.byteLength(before)
    at = start + json.length
    return { form: 'float', json: answer.subarray(start, at) }
  })
}

async function piecesOf (vectors: ReadonlyArray<{ form: 'float', json: Buffer }>): Promise<Buffer[]> {
  const { body } = await embeddingsReply()(
    batchesOf(routedCall(request), [[{ type: 'embeddings', vectors }]])
  )
  return body instanceof Buffer ? [body] : await collect(body as AsyncIterable<Buffer>)
}

t.test("vectors give the same list whatever separates them in the provider's answer", async t => {
  const between = fc.constantFrom(
    'as here',
    'as here',
    'as here',
    '},\n{"object":"embedding","index":1,"embedding":',
    '},{"object":"embedding","index":9,"embedding":',
    ''
  )
  const part = fc.tuple(between, fc.constantFrom(1, 10, 20_000), fc.boolean())
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 30 }), async parts => {
      const vectors = vectorsIn(
        parts.map(([before, length, isWide], index) => [
          before === 'as here' ? `},{"object":"embedding","index":${index},"embedding":` : before,
          `[${'0.5, '.repeat(length)}${isWide ? '1e5' : index}]`
        ])
      )
      const data = vectors.map(
        ({ json }, index) => `{"object":"embedding","index":${index},"embedding":${json.toString()}}`
      )
      const printed = Buffer.concat(await piecesOf(vectors)).toString()
      t.ok(
        printed ===
          `{"object":"list","data":[${data.join()}],"model":"one/m","usage":{"prompt_tokens":0,"total_tokens":0}}`
      )
    }),
    { numRuns: rounds(200) }
  )
})

t.test(
  'vectors already in our format are not copied; others are joined into larger pieces',
  async t => {
    const vector = `[${'0.25,'.repeat(2000)}1]`
    const compact = vectorsIn(
      Array.from({ length: 40 }, (_, index) => [
        `},{"object":"embedding","index":${index},"embedding":`,
        vector
      ])
    )
    const pieces = await piecesOf(compact)
    t.equal(pieces.length, 3)
    t.equal(pieces[1]?.buffer, compact[0]?.json.buffer)
    const spaced = vectorsIn(
      Array.from({ length: 40 }, (_, index) => [
        `}, {"object":"embedding","index":${index},"embedding":`,
        vector
      ])
    )
    const sizes = (await piecesOf(spaced)).map(({ length }) => length)
    t.ok(sizes.length < 10 && sizes.every(size => size <= 64 * 1024), sizes.join())
  }
)

t.test('a pipeline without an answer is an internal error', async t => {
  await t.rejects(embeddingsReply()(batchesOf(routedCall(request), [])), { code: 'internal_error' })
})
