import type { ProviderKind } from '../../schemas/providers.ts'
import t from 'tap'
import { LLMock } from '@copilotkit/aimock'
import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import { embeddings } from '../../lib/sandbox/embeddings.ts'
import { sandboxOptions } from '../../lib/sandbox/options.ts'
import { fakeUpstream, type FakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, providerSettings, settings } from '../support/settings.ts'
import { countTurns } from '../support/turns.ts'
import { settles, until } from '../support/until.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/embeddings'
const model = 'openai/text-embedding-3-small'
const question = { model, input: 'hi' }

type Answering = Script | ((request: SeenRequest, number: number) => Script | Promise<Script>)
interface Started {
  readonly upstream: FakeUpstream
  readonly api: TestGateway
}

async function start (
  t: Test,
  script: Answering,
  kind: ProviderKind = 'openai',
  provider: Partial<ProviderSettings> = {},
  parts: Partial<Settings> = {}
): Promise<Started> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const url = kind === 'google' ? upstream.url : `${upstream.url}/v1`
  return {
    upstream,
    api: await testGateway(t, { providers: [upstreamAt(url, kind, kind, provider)], ...parts })
  }
}

interface Item {
  object: string
  index: number
  embedding: number[] | string
}
interface Answer {
  object: string
  data: Item[]
  model: string
  usage: { prompt_tokens: number, total_tokens: number }
}

async function json<T = Record<string, unknown>> (response: Response): Promise<T> {
  return (await response.json()) as T
}

function list (vectors: readonly unknown[], usage: unknown = { prompt_tokens: 5, total_tokens: 5 }): Script {
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }))
  return { pieces: [JSON.stringify({ object: 'list', data, model: 'm-1', usage })] }
}

function base64 (numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

function inputs ({ json }: SeenRequest): unknown[] {
  const input: unknown = Reflect.get(Object(json), 'input')
  return Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
}

/** A vector of two numbers for each input: its index, and one half. */
function answering (request: SeenRequest): Script {
  return list(inputs(request).map((_, index) => [index, 0.5]))
}

/** The client's own class for the error. */
async function throws (
  t: Test,
  work: Promise<unknown>,
  expected: abstract new (...given: never[]) => Error
): Promise<void> {
  const error: unknown = await work.then(
    () => undefined,
    (error: unknown) => error
  )
  t.ok(error instanceof expected, `${expected.name}: ${String(error)}`)
}

t.test('a text, its tokens, or a list of either gives a vector for each, in order', async t => {
  const { upstream, api } = await start(t, answering)
  for (const [input, count] of [
    ['hi', 1],
    [['a', 'b', 'c'], 3],
    [[1, 2, 3], 1],
    [[[1], [2, 3]], 2]
  ] as const) {
    const response = await api.post(path, { model, input })
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.same(await json(response), {
      object: 'list',
      data: Array.from({ length: count }, (_, index) => ({
        object: 'embedding',
        index,
        embedding: [index, 0.5]
      })),
      model,
      usage: { prompt_tokens: 5, total_tokens: 5 }
    })
    t.same(
      upstream.requests.at(-1)?.json,
      { model: 'text-embedding-3-small', input },
      'and nothing else is sent'
    )
  }
  await api.post(path, {
    ...question,
    encoding_format: 'float',
    dimensions: 2,
    user: 'me',
    temperature: 1,
    stream: true
  })
  t.same(upstream.requests.at(-1)?.json, {
    model: 'text-embedding-3-small',
    input: 'hi',
    encoding_format: 'float',
    dimensions: 2,
    user: 'me'
  })
  t.equal(
    (await api.post(path, { ...question, encoding_format: null, dimensions: null, user: null })).status,
    200
  )
  t.same(upstream.requests.at(-1)?.json, { model: 'text-embedding-3-small', input: 'hi' }, 'null is absent')
  await until(() => api.lines.length === 6, 'six lines in the log')
  t.match(api.lines[0], {
    endpoint: 'embeddings',
    model,
    requested: model,
    status: 200,
    outcome: 'ok',
    attempts: 1,
    usage: { prompt: 5, completion: 0, total: 5, estimated: undefined }
  })
})

t.test('a body of the wrong shape is refused, with place and reason', async t => {
  const { upstream, api } = await start(t, answering)
  const row = async (body: object, loc: Array<string | number>, type: string): Promise<void> => {
    const response = await api.post(path, { ...question, ...body })
    t.equal(response.status, 422, JSON.stringify(body).slice(0, 60))
    const { detail } = await json<{ detail: unknown[] }>(response)
    t.match(detail[0], { loc: ['body', ...loc], type, msg: String })
  }
  await row({ input: undefined }, ['input'], 'missing')
  await row({ input: null }, ['input'], 'string_type')
  await row({ input: '' }, ['input'], 'string_too_short')
  await row({ input: 5 }, ['input'], 'string_type')
  await row({ input: {} }, ['input'], 'string_type')
  await row({ input: [] }, ['input'], 'too_short')
  await row({ input: Array(2049).fill('a') }, ['input'], 'too_long')
  await row({ input: Array(2049).fill(1) }, ['input'], 'too_long')
  await row({ input: Array.from({ length: 2049 }, () => [1]) }, ['input'], 'too_long')
  await row({ input: [[]] }, ['input', 0], 'too_short')
  await row({ input: [[1], []] }, ['input', 1], 'too_short')
  await row({ input: ['a', 1] }, ['input', 1], 'string_type')
  await row({ input: [1, 'a'] }, ['input', 1], 'int_type')
  await row({ input: [1.5] }, ['input', 0], 'int_from_float')
  await row({ input: [[1, 'a']] }, ['input', 0, 1], 'int_type')
  await row({ input: [['a']] }, ['input', 0, 0], 'int_type')
  await row({ input: [true] }, ['input', 0], 'string_type')
  await row({ model: undefined }, ['model'], 'missing')
  await row({ model: '' }, ['model'], 'string_too_short')
  await row({ model: [] }, ['model'], 'too_short')
  await row({ encoding_format: 'int8' }, ['encoding_format'], 'literal_error')
  await row({ dimensions: 0 }, ['dimensions'], 'greater_than_equal')
  await row({ dimensions: 1.5 }, ['dimensions'], 'int_from_float')
  await row({ dimensions: '256' }, ['dimensions'], 'int_type')
  await row({ user: 5 }, ['user'], 'string_type')
  t.equal(upstream.requests.length, 0)
  t.equal(
    (await api.post(path, { model, input: Array(2048).fill('a') })).status,
    200,
    '2048 are not too many'
  )
})

t.test('an option that no model or not this one supports is refused with its parameter', async t => {
  const large = {
    limits: { ...settings().limits, jsonBodyBytes: 10_000_000 },
    models: [modelSettings('openai/text-embedding-3-large', { status: 'disabled' })]
  }
  const { upstream, api } = await start(t, answering, 'openai', {}, large)
  const row = async (
    body: object,
    status: number,
    code: string,
    param: string,
    message: RegExp = /./
  ): Promise<void> => {
    const response = await api.post(path, { ...question, ...body })
    t.equal(response.status, status, JSON.stringify(body).slice(0, 60))
    t.match(await json(response), { error: { type: 'invalid_request_error', code, param, message } })
  }
  await row({ input: ['a', ''] }, 400, 'invalid_value', 'input', /index 1/)
  await row({ model: [model, 'openai/text-embedding-ada-002'] }, 400, 'invalid_value', 'model', /compared/)
  await row(
    { model: 'openai/text-embedding-ada-002', dimensions: 256 },
    400,
    'unsupported_parameter',
    'dimensions'
  )
  await row({ model: 'text-embedding-ada-002', dimensions: 256 }, 400, 'unsupported_parameter', 'dimensions')
  await row({ model: 'openai/text-embedding-3-large' }, 404, 'model_not_found', 'model')
  await row({ model: 'missing/embedding' }, 404, 'model_not_found', 'model')
  await row({ model: 'text-embedding-4-small' }, 404, 'model_not_found', 'model', /text-embedding-3-small/)
  await row({ model: 'google/text-embedding-004' }, 404, 'model_not_found', 'model')
  for (const input of [
    'word '.repeat(9000),
    'a'.repeat(200_000),
    ['a', '😀'.repeat(100_000)],
    ' '.repeat(1_200_000),
    [[1], Array(8193).fill(1)],
    Array(37).fill(Array(8192).fill(1)),
    Array(60).fill('word '.repeat(5500))
  ]) {
    await row({ input }, 400, 'context_length_exceeded', 'input', /tokens/)
  }
  const words = (count: number): string => `word${' word'.repeat(count - 1)}`
  const lists = (count: number): number[][] =>
    [...Array(36).fill(8192), count - 36 * 8192].map(length => Array(length).fill(1) as number[])
  for (const input of [words(8193), lists(300_001)]) {
    await row({ input }, 400, 'context_length_exceeded', 'input', /8192|300000/)
  }
  t.equal(upstream.requests.length, 0)
  for (const input of [words(8192), lists(300_000)]) {
    t.equal((await api.post(path, { model, input })).status, 200, 'long, but not too long')
  }

  t.equal(
    (
      await api.post(path, {
        model: 'openai/of-tomorrow',
        input: Array(9000).fill(1).slice(0, 2048),
        dimensions: 5
      })
    ).status,
    200,
    'of the vectors of an unknown model nothing is assumed'
  )
  t.match(
    await json(await api.post(path, { model: 'openai/of-tomorrow', input: 'word '.repeat(9000) })),
    { error: { code: 'context_length_exceeded', param: 'input' } },
    'but the limits of the catalogue'
  )
  t.match(
    await json(await api.post(path, { model: [model], input: 'x' })),
    { model },
    'a list of one is one'
  )
  for (const name of ['text-embedding-3-small', 'text-embedding-ada-002']) {
    t.match(
      await json(await api.post(path, { model: name, input: 'x' })),
      { model: `openai/${name}` },
      'without its prefix'
    )
  }
})

t.test(
  'a fallback may use another provider of the same model, never another model',
  async t => {
    const upstream = await fakeUpstream((request, number) =>
      number === 0 ? { status: 500, pieces: ['{}'] } : answering(request)
    )
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [
        upstreamAt(`${upstream.url}/v1`),
        upstreamAt(`${upstream.url}/backup`, 'backup', 'openai'),
        upstreamAt(upstream.url, 'google', 'google')
      ],
      routes: [
        { name: 'same', models: [model, 'backup/text-embedding-3-small', 'backup/ours'] },
        { name: 'mixed', models: [model, 'google/text-embedding-004'] }
      ]
    })
    const same = await api.post(path, { model: 'same', input: 'x' })
    t.equal(same.status, 200)
    t.equal(same.headers.get('x-headgate-model'), 'backup/text-embedding-3-small')
    const mixed = await api.post(path, { model: 'mixed', input: 'x' })
    t.equal(mixed.status, 400)
    t.match(await json(mixed), { error: { code: 'invalid_value', param: 'model', message: /compared/ } })
    t.equal(upstream.requests.length, 2)
  }
)

t.test('a field that a provider names differently has its name there, and the caller\'s in errors', async t => {
  const { upstream, api } = await start(
    t,
    (request, number) =>
      number === 0
        ? answering(request)
        : {
            status: 422,
            pieces: [
              JSON.stringify({
                object: 'error',
                message: {
                  detail: [{ type: 'x', loc: ['body', 'output_dimension'], msg: 'At most 3072' }]
                },
                type: 'invalid_request_error'
              })
            ]
          },
    'mistral'
  )
  const request = { model: 'mistral/codestral-embed', input: 'hi', dimensions: 256 }
  t.equal((await api.post(path, request)).status, 200)
  t.same(upstream.requests[0]?.json, { model: 'codestral-embed', input: 'hi', output_dimension: 256 })
  const refused = await api.post(path, { ...request, dimensions: 9999 })
  t.equal(refused.status, 400)
  t.match(await json(refused), { error: { param: 'dimensions', message: 'output_dimension: At most 3072' } })
})

t.test('keys and their rights are checked first', async t => {
  const upstream = await fakeUpstream(answering)
  t.teardown(upstream.close)
  const api = await testGateway(
    t,
    { providers: [upstreamAt(`${upstream.url}/v1`)] },
    {
      chatter: { id: 'key-2', name: 'chat only', endpoints: ['chat'] }
    }
  )
  const missing = await api.post(path, '{bad', { headers: { authorization: '' } })
  t.equal(missing.status, 401)
  t.match(await json(missing), { error: { type: 'authentication_error', code: 'invalid_api_key' } })
  const scoped = await api.post(path, question, { headers: { authorization: 'Bearer chatter' } })
  t.equal(scoped.status, 403)
  t.match(await json(scoped), { error: { code: 'insufficient_permissions' } })
  const bad = await api.post(path, '{bad')
  t.equal(bad.status, 400)
  t.match(await json(bad), { error: { code: 'invalid_json' } })
  t.equal((await api.get(path)).status, 405)
  t.equal(upstream.requests.length, 0)
})

t.test('vectors in the requested format are passed on digit for digit', async t => {
  const pretty =
    '{\n  "object": "list",\n  "data": [\n    {\n      "embedding": [\n        -0.0069292834,\n        1e-9,\n 3.10 ],\n      "object": "embedding", "index": 0\n    }\n  ],\n  "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}\n}\n'
  const { api } = await start(t, request => {
    const text = JSON.stringify(request.json)
    return text.includes('base64')
      ? list([base64([0.1, -2])])
      : { pieces: [pretty.slice(0, 100), pretty.slice(100)] }
  })
  t.match(
    await (await api.post(path, question)).text(),
    '"embedding":[\n        -0.0069292834,\n        1e-9,\n 3.10 ]}'
  )
  t.same(
    (await json<Answer>(await api.post(path, { ...question, encoding_format: 'base64' }))).data[0]
      ?.embedding,
    base64([0.1, -2])
  )
})

t.test('a provider that answers in the other format, or supports only one, is converted', async t => {
  const numbers = [0.1, -2, 3.4028234663852886e38, 1.17549435e-38, 0]
  const floats = await start(t, list([numbers]))
  const packed = await json<Answer>(await floats.api.post(path, { ...question, encoding_format: 'base64' }))
  t.equal(packed.data[0]?.embedding, base64(numbers))
  t.match(floats.upstream.requests[0]?.json, { encoding_format: 'base64' })

  const packs = await start(t, {
    pieces: [JSON.stringify({ data: [{ index: 0, embedding: base64(numbers) }] }).replaceAll('/', '\\/')]
  })
  const unpacked = await json<Answer>(await packs.api.post(path, question))
  t.same(
    unpacked.data[0]?.embedding,
    [0.1, -2, 3.4028235e38, 1.1754944e-38, 0],
    'in the shortest numbers that say the same'
  )
  t.same(Float32Array.from(unpacked.data[0]?.embedding as number[]), Float32Array.from(numbers))

  for (const broken of ['[1,,2]', '[1,]', '[+1]', '[1 2]', '[1e999]', '[1e39]']) {
    const { api } = await start(t, { pieces: [`{"data":[{"index":0,"embedding":${broken}}]}`] })
    const response = await api.post(path, { ...question, encoding_format: 'base64' })
    t.equal(response.status, 502, broken)
    t.match(await json(response), { error: { code: 'upstream_invalid_response' } })
  }

  for (const kind of ['sglang', 'lm-studio', 'ollama', 'mistral'] as const) {
    const { upstream, api } = await start(t, list([numbers]), kind)
    const answer = await json<Answer>(
      await api.post(path, { model: `${kind}/m`, input: 'x', encoding_format: 'base64' })
    )
    t.equal(answer.data[0]?.embedding, base64(numbers), kind)
    t.notOk('encoding_format' in Object(upstream.requests[0]?.json), 'not even called')
  }
})

t.test('answers are sorted, and gaps are filled where that is certain', async t => {
  const item = (index: number | undefined, value: number): object => ({
    object: 'embedding',
    index,
    embedding: [value],
    extra: { deep: ['"]}', {}] }
  })
  const ask = async (t: Test, body: object | string): Promise<Response> => {
    const { api } = await start(t, { pieces: [typeof body === 'string' ? body : JSON.stringify(body)] })
    const response = await api.post(path, { model, input: ['first', 'second text', 'x'] })
    await until(() => api.lines.length === 1, 'one line in the log')
    t.match(
      api.lines[0],
      response.status === 200 ? { outcome: 'ok' } : { outcome: 'error', error: 'upstream_invalid_response' }
    )
    return response
  }
  const shuffled = await json<Answer>(
    await ask(t, {
      id: 'x',
      model: 'm',
      usage: { prompt_tokens: 4, total_tokens: 4 },
      data: [item(2, 30), item(0, 10), item(1, 20)]
    })
  )
  t.same(
    shuffled.data,
    [10, 20, 30].map((value, index) => ({ object: 'embedding', index, embedding: [value] }))
  )
  t.same(Object.keys(shuffled), ['object', 'data', 'model', 'usage'])
  const bare = await json<Answer>(
    await ask(t, { usage: null, data: [item(undefined, 10), item(undefined, 20), item(undefined, 30)] })
  )
  t.same(
    bare.data.map(({ index, embedding }) => [index, embedding]),
    [
      [0, [10]],
      [1, [20]],
      [2, [30]]
    ]
  )
  t.same(bare.usage, { prompt_tokens: 6, total_tokens: 6 }, 'an estimate')
  const total = await json<Answer>(
    await ask(t, { usage: { total_tokens: 9 }, data: [item(0, 1), item(1, 2), item(2, 3)] })
  )
  t.same(total.usage, { prompt_tokens: 9, total_tokens: 9 }, 'the total alone')

  const good = [item(0, 1), item(1, 2), item(2, 3)]
  for (const [name, body] of Object.entries({
    'too few': { data: good.slice(1) },
    'too many': { data: [...good, item(3, 4)] },
    'one twice': { data: [item(0, 1), item(1, 2), item(1, 3)] },
    'an index out of range': { data: [item(1, 1), item(2, 2), item(3, 3)] },
    'some without index': { data: [item(0, 1), item(undefined, 2), item(2, 3)] },
    'null in a vector': { data: [...good.slice(0, 2), { index: 2, embedding: [0.1, null] }] },
    'no vector': { data: [...good.slice(0, 2), { index: 2 }] },
    'null for a vector': { data: [...good.slice(0, 2), { index: 2, embedding: null }] },
    'an empty vector': { data: [...good.slice(0, 2), { index: 2, embedding: [] }] },
    'vectors of vectors': { data: [...good.slice(0, 2), { index: 2, embedding: [[1], [2]] }] },
    'texts in a vector': { data: [...good.slice(0, 2), { index: 2, embedding: ['1'] }] },
    'half a float': { data: [...good.slice(0, 2), { index: 2, embedding: 'AAAAAAA=' }] },
    'not a number': { data: [...good.slice(0, 2), { index: 2, embedding: base64([Number.NaN]) }] },
    'no data': { object: 'list', model: 'm' },
    'null data': { data: null },
    'empty data': { data: [] },
    'a word': '"no"',
    'half an answer': JSON.stringify({ data: good }).slice(0, -20),
    'more after it': `${JSON.stringify({ data: good })}{`,
    NaN: '{"data":[{"index":0,"embedding":[NaN]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}',
    'a page': '<html>[]</html>',
    'a stream': 'data: {}\n\ndata: [DONE]\n\n',
    nothing: ''
  })) {
    const response = await ask(t, body)
    t.equal(response.status, 502, name)
    t.match(
      await json(response),
      { error: { type: 'server_error', code: 'upstream_invalid_response' } },
      name
    )
  }
})

t.test('provider failures have the same meaning as on every endpoint', async t => {
  const said = (message: string, code: string | null = null): string =>
    JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } })
  const rows: Array<[Script, number, object]> = [
    [
      {
        status: 400,
        pieces: [said("This model's maximum context length is 8192 tokens, however you requested 9000.")]
      },
      400,
      { code: 'context_length_exceeded', param: 'input', message: /9000/ }
    ],
    [
      { status: 400, pieces: [said('This model does not support specifying dimensions.')] },
      400,
      { code: 'upstream_invalid_request', message: /specifying dimensions/ }
    ],
    [
      { status: 401, pieces: [said('Incorrect API key provided: sk-canary')] },
      502,
      { code: 'upstream_auth_failed', message: /^(?!.*canary)/ }
    ],
    [{ status: 404, pieces: [said('no such model')] }, 404, { code: 'model_not_found', param: 'model' }],
    [
      { status: 429, headers: { 'retry-after': '9' }, pieces: [said('slow')] },
      429,
      { type: 'rate_limit_error', code: 'rate_limit_exceeded' }
    ],
    [{ status: 500, pieces: ['oops'] }, 502, { type: 'server_error', code: 'upstream_error' }],
    [{ pieces: ['{"error":{"message":"busy","code":503}}'] }, 503, { code: 'upstream_overloaded' }],
    [
      { pieces: ['{"object":"error","message":"too long for the context window","code":400}'] },
      400,
      { code: 'context_length_exceeded' }
    ],
    [{ pieces: ['{"data":['], then: 'fin' }, 502, { code: 'upstream_stream_interrupted' }]
  ]
  for (const [script, status, error] of rows) {
    const { api } = await start(t, script)
    const response = await api.post(path, question)
    t.equal(response.status, status)
    t.match(await json(response), { error })
  }
  const retried = await start(
    t,
    (request, number) => (number === 0 ? { status: 503, pieces: ['{}'] } : answering(request)),
    'openai',
    { retries: 1 }
  )
  const answer = await retried.api.post(path, question)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('x-headgate-attempts'), '2')
  const chatting = await testGateway(t, { providers: [providerSettings('anthropic', 'anthropic')] })
  const wrong = await chatting.post(path, { model: 'anthropic/claude-sonnet-4-5', input: 'x' })
  t.equal(wrong.status, 404)
  t.match(await json(wrong), { error: { code: 'model_not_found', message: /endpoint/ } })
})

t.test('thousands of vectors arrive complete, from a provider that sends them in pieces', async t => {
  const numbers = Array.from({ length: 256 }, (_, index) => Math.fround(Math.sin(index) / 16))
  const { upstream, api } = await start(t, request => {
    const { pieces } = list(inputs(request).map((_, index) => [index, ...numbers]))
    const text = String((pieces as string[])[0])
    return {
      pieces: Array.from({ length: Math.ceil(text.length / 100_000) }, (_, at) =>
        text.slice(at * 100_000, (at + 1) * 100_000)
      )
    }
  })
  t.ok(settings().limits.answerBytes < 2_000_000, 'a limit that holds for other answers')
  const input = Array.from({ length: 2048 }, (_, index) => `text ${index}`)
  const { data } = await json<Answer>(await api.post(path, { model, input }))
  t.equal(data.length, 2048)
  t.ok(data.every(({ index, embedding }) => embedding[0] === index && embedding.length === 257))
  t.same(data[2047]?.embedding.slice(1), numbers)
  const packed = await json<Answer>(await api.post(path, { model, input, encoding_format: 'base64' }))
  t.equal(packed.data[7]?.embedding, base64([7, ...numbers]))

  const leaving = new AbortController()
  const response = await api.post(path, { model, input }, { signal: leaving.signal })
  await response.body?.getReader().read()
  leaving.abort()
  await until(() => api.lines.length === 3, 'three lines in the log')
  t.match(api.lines[2], { outcome: 'client_closed' })
  t.equal(upstream.requests.length, 3)
})

t.test('gemini: texts go as batches of a hundred, eight at a time, and come back in order', async t => {
  let open = 0
  let most = 0
  const { upstream, api } = await start(
    t,
    request => {
      most = Math.max(most, ++open)
      const requests = Reflect.get(Object(request.json), 'requests') as Array<{
        content: { parts: [{ text: string }] }
      }>
      const embeddings = requests.map(
        ({
          content: {
            parts: [{ text }]
          }
        }) => ({ values: [Number(text), 0.5] })
      )
      return {
        pieces: (async function* () {
          await new Promise(resolve => {
            setImmediate(resolve)
          })
          open--
          yield JSON.stringify({ embeddings, usageMetadata: { promptTokenCount: requests.length } })
        })()
      }
    },
    'google'
  )
  const input = Array.from({ length: 1200 }, (_, index) => String(index))
  const response = await api.post(path, {
    model: 'google/gemini-embedding-001',
    input,
    dimensions: 2,
    user: 'me'
  })
  t.ok(Number(response.headers.get('x-headgate-overhead-ms')) >= 0, 'waits side by side are one wait')
  const answer = await json<Answer>(response)
  t.same(
    answer.data.map(({ embedding }) => embedding),
    input.map(text => [Number(text), 0.5])
  )
  t.match(answer, {
    model: 'google/gemini-embedding-001',
    usage: { prompt_tokens: 1200, total_tokens: 1200 }
  })
  t.equal(upstream.requests.length, 12)
  t.ok(most > 1 && most <= 8, `${most} at once`)
  t.match(upstream.requests[0], {
    path: '/v1beta/models/gemini-embedding-001:batchEmbedContents',
    json: {
      requests: [
        {
          model: 'models/gemini-embedding-001',
          content: { parts: [{ text: /\d/ }] },
          outputDimensionality: 2
        }
      ]
    }
  })
  t.notMatch(upstream.requests[0]?.text, 'me"')
  const packed = await json<Answer>(
    await api.post(path, { model: 'google/gemini-embedding-001', input: '7', encoding_format: 'base64' })
  )
  t.equal(packed.data[0]?.embedding, base64([7, 0.5]))
  const old = await api.post(path, { model: 'google/text-embedding-004', input: '7', dimensions: 2 })
  t.equal(old.status, 400)
  t.match(await json(old), { error: { code: 'unsupported_parameter', param: 'dimensions' } })
  for (const tokens of [
    [1, 2],
    [[1], [2]]
  ]) {
    const refused = await api.post(path, { model: 'google/gemini-embedding-001', input: tokens })
    t.equal(refused.status, 400)
    t.match(await json(refused), { error: { code: 'unsupported_parameter', param: 'input' } })
  }
})

t.test('gemini: one failed batch fails the call, and the others are aborted', async t => {
  const input = Array.from({ length: 400 }, (_, index) => String(index))
  const { upstream, api } = await start(
    t,
    async (request, number) => {
      if (number < 3) return { silent: true }
      await upstream.request(3)
      return {
        status: 400,
        pieces: ['{"error":{"code":400,"message":"The text is odd.","status":"INVALID_ARGUMENT"}}']
      }
    },
    'google'
  )
  const response = await api.post(path, { model: 'google/gemini-embedding-001', input })
  t.equal(response.status, 400)
  t.match(await json(response), { error: { message: 'The text is odd.' } })
  for (const number of [0, 1, 2]) {
    await settles((await upstream.request(number)).aborted, 'the other slices to be cancelled')
  }

  const leaving = new AbortController()
  const silent = await start(t, { silent: true }, 'google')
  silent.api
    .post(path, { model: 'google/gemini-embedding-001', input }, { signal: leaving.signal })
    .catch(() => undefined)
  const seen = await silent.upstream.request(3)
  leaving.abort()
  await seen.aborted
})

t.test('gemini: invalid answers, and missing usage', async t => {
  const rows: Array<[string, number, object]> = [
    ['{"embeddings":[{"values":[1]}]}', 502, { error: { code: 'upstream_invalid_response' } }],
    ['{"embeddings":[{"values":[1]},{}]}', 502, { error: { code: 'upstream_invalid_response' } }],
    [
      '{"embeddings":[{"values":[1]},{"values":[null]}]}',
      502,
      { error: { code: 'upstream_invalid_response' } }
    ],
    ['{}', 502, { error: { code: 'upstream_invalid_response' } }],
    [
      '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"no"}}',
      429,
      { error: { code: 'rate_limit_exceeded' } }
    ],
    ['{"embeddings":[{"values":[1]},{"values":[2],"shape":[1]}]}', 200, { usage: { prompt_tokens: 3 } }]
  ]
  for (const [answer, status, expected] of rows) {
    const { api } = await start(t, { pieces: [answer] }, 'google')
    const response = await api.post(path, {
      model: 'google/gemini-embedding-001',
      input: ['four', 'and more']
    })
    t.equal(response.status, status, answer)
    t.match(await json(response), expected)
    await until(() => api.lines.length === 1, 'one line in the log')
    if (status === 200) t.match(api.lines[0], { usage: { total: 3, estimated: true } })
  }
  const long = await start(
    t,
    {
      status: 400,
      pieces: [
        '{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count exceeds the maximum number of tokens allowed."}}'
      ]
    },
    'google'
  )
  t.match(await json(await long.api.post(path, { model: 'google/gemini-embedding-001', input: 'x' })), {
    error: { code: 'context_length_exceeded', param: 'input' }
  })
})

t.test(
  'sandbox: equal texts have equal vectors, similar texts close ones, and shorter vectors are prefixes',
  async t => {
    const api = await testGateway(t, { providers: [providerSettings('sandbox', 'sandbox')] })
    const ask = async (input: unknown, more: object = {}): Promise<Answer> =>
      await json<Answer>(await api.post(path, { model: 'sandbox/embedding', input, ...more }))
    const near = (a: number[], b: number[]): number =>
      a.reduce((sum, number, index) => sum + number * (b[index] ?? 0), 0)
    const answer = await ask([
      'the cat sat on the mat',
      'the cat sat on the mat',
      'a cat sat on a mat',
      'stock prices fell sharply',
      ' '
    ])
    const [first = [], same = [], like = [], other = [], blank = []] = answer.data.map(
      ({ embedding }) => embedding as number[]
    )
    t.same(first, same)
    t.equal(first.length, 256)
    for (const vector of [first, like, other, blank]) {
      t.ok(Math.abs(near(vector, vector) - 1) < 1e-6, 'of length one')
    }
    t.ok(near(first, like) > near(first, other) + 0.3)
    t.ok(answer.usage.prompt_tokens > 0)
    const [short] = (await ask('the cat sat on the mat', { dimensions: 64 })).data
    t.equal(short?.embedding.length, 64)
    const head = first.slice(0, 64)
    t.ok(
      Math.abs(near(short?.embedding as number[], head) / Math.sqrt(near(head, head)) - 1) < 1e-6,
      'the same direction'
    )
    t.equal(
      (await ask('the cat sat on the mat', { encoding_format: 'base64' })).data[0]?.embedding,
      base64(first)
    )
    t.equal(
      (
        await ask([
          [1, 2],
          [1, 3]
        ])
      ).data.length,
      2
    )
    t.match(await ask('x [sandbox: status=429]'), { error: { code: 'rate_limit_exceeded' } })
    t.match(await ask('x', { dimensions: 257 }), { error: { param: 'dimensions' } })
    t.match(await ask('x', { model: 'sandbox/echo' }), { error: { code: 'model_not_found' } })
    t.match(await ask('word '.repeat(9000)), { error: { code: 'context_length_exceeded', param: 'input' } })
    t.match(await ask(Array(38).fill(Array(8000).fill(1))), {
      error: { code: 'context_length_exceeded', message: /300000/ }
    })
  }
)

t.test('sandbox: each vector is computed in its own turn, and none after the caller disconnects', async t => {
  const turns = countTurns(t)
  const leaving = new AbortController()
  const body = JSON.stringify({
    model: 'embedding',
    input: Array.from({ length: 50 }, (_, index) => `text ${index}`)
  })
  const make = async (): Promise<unknown> =>
    await embeddings({ method: 'POST', path: '/embeddings', headers: {}, body }, sandboxOptions({}), leaving)
  await Promise.all([make(), make()])
  t.ok(turns() >= 98, `${turns()} turns for 100 vectors`)
  const left = make()
  leaving.abort(new Error('gone'))
  await t.rejects(left, { message: 'gone' })
})

t.test('the official clients work with a third-party mock provider', async t => {
  const mock = new LLMock({ port: 0 })
  mock.onEmbedding('hello', { embedding: [0.1, -0.25, 3] })
  await mock.start()
  t.teardown(async () => await mock.stop())
  const api = await testGateway(t, { providers: [upstreamAt(`${mock.url}/v1`)] })
  const client = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  const vectors = [0.1, -0.25, 3].map(Math.fround)
  // The client asks for base64 by default, and decodes it.
  const unsaid = await client.embeddings.create({ model, input: ['hello', 'hello again'] })
  t.match(mock.getLastRequest()?.body, { model: 'text-embedding-3-small' })
  t.same([...(unsaid.data[1]?.embedding ?? [])].map(Math.fround), vectors)
  t.match(unsaid, { object: 'list', model, data: [{ object: 'embedding', index: 0 }, { index: 1 }] })
  const floats = await client.embeddings.create({ model, input: 'hello', encoding_format: 'float' })
  t.same(floats.data[0]?.embedding, [0.1, -0.25, 3])
  const packed = await client.embeddings.create({ model, input: 'hello', encoding_format: 'base64' })
  t.equal(packed.data[0]?.embedding, base64(vectors))
  await throws(t, client.embeddings.create({ model, input: [] }), OpenAI.UnprocessableEntityError)
  await throws(t, client.embeddings.create({ model: 'missing/x', input: 'x' }), OpenAI.NotFoundError)
  await t.rejects(client.embeddings.create({ model, input: ['x', ''] }), {
    status: 400,
    code: 'invalid_value',
    param: 'input'
  })

  const own = new Dedalus({
    baseURL: api.url,
    apiKey: testKey,
    environment: null as unknown as 'development',
    maxRetries: 0
  })
  const answer = await own.embeddings.create({ model, input: 'hello', encoding_format: 'float' })
  t.match(answer, {
    object: 'list',
    model,
    data: [{ index: 0, embedding: [0.1, -0.25, 3] }],
    usage: { total_tokens: Number }
  })
  await throws(
    t,
    own.embeddings.create({ model: 'openai/text-embedding-ada-002', input: 'x', dimensions: 5 }),
    Dedalus.BadRequestError
  )
})
