/**
 * POST /v1/completions with the official client, for providers with a completions API and for those that only
 * chat.
 */

import OpenAI from 'openai'
import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { Test } from 'tap'

const path = '/v1/completions'

interface Place {
  readonly api: TestGateway
  readonly client: OpenAI
  readonly upstream: FakeUpstream
}

async function at (
  t: Test,
  kind: ProviderKind,
  script: Script | ((request: SeenRequest) => Script),
  keys: Record<string, ApiKey> = {}
): Promise<Place> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const api = await testGateway(
    t,
    { providers: [{ ...upstreamAt(`${upstream.url}/v1`, kind, kind), retries: 0 }] },
    keys
  )
  return { api, upstream, client: new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 }) }
}

const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }

/** An answer of a server with text completions. */
function textAnswer (...choices: readonly object[]): string {
  return JSON.stringify({
    id: 'cmpl-upstream',
    object: 'text_completion',
    created: 1,
    model: 'm',
    choices,
    usage
  })
}

function textFrames (...chunks: ReadonlyArray<readonly object[]>): string[] {
  const frames = [
    ...chunks.map(choices => ({ id: 'c', object: 'text_completion', created: 1, model: 'm', choices })),
    { id: 'c', choices: [], usage }
  ]
  return [...frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`), 'data: [DONE]\n\n']
}

t.test('a server that completes text gets prompt and suffix unchanged', async t => {
  const { client, upstream } = await at(t, 'vllm', {
    pieces: [textAnswer({ index: 0, text: ' return a', logprobs: null, finish_reason: 'stop' })]
  })
  const answer = await client.completions.create({
    model: 'vllm/coder',
    prompt: 'def f(a):',
    suffix: '\nf(1)',
    max_tokens: 20,
    temperature: 0,
    stop: ['\n\n'],
    seed: 7,
    echo: true
  })
  t.match(answer, {
    id: /^cmpl-[0-9a-f]{32}$/,
    object: 'text_completion',
    model: 'vllm/coder',
    choices: [{ index: 0, text: ' return a', logprobs: null, finish_reason: 'stop' }],
    usage
  })
  const [{ path, json } = { path: '', json: undefined }] = upstream.requests
  t.equal(path, '/v1/completions')
  t.strictSame(json, {
    model: 'coder',
    prompt: 'def f(a):',
    suffix: '\nf(1)',
    echo: true,
    max_tokens: 20,
    temperature: 0,
    seed: 7,
    stop: ['\n\n']
  })
})

t.test('a streamed completion is passed on as it is written, with its usage on request', async t => {
  const { client, upstream } = await at(t, 'llama.cpp', {
    headers: eventStream,
    pieces: textFrames(
      [{ index: 0, text: 'on', finish_reason: null }],
      [{ index: 0, text: 'ce', finish_reason: null }],
      [{ index: 0, text: '', finish_reason: 'length' }]
    )
  })
  const chunks = []
  for await (const chunk of await client.completions.create({
    model: 'llama.cpp/coder',
    prompt: 'At',
    stream: true,
    stream_options: { include_usage: true }
  })) {
    chunks.push(chunk)
  }
  t.equal(chunks.map(({ choices: [choice] }) => choice?.text ?? '').join(''), 'once')
  t.same(
    chunks.map(({ choices }) => choices.map(choice => choice.finish_reason)),
    [[null], [null], ['length'], []]
  )
  t.match(chunks.at(-1), { object: 'text_completion', choices: [], usage })
  t.match(upstream.requests[0]?.json, {
    max_tokens: 16,
    stream: true,
    stream_options: { include_usage: true }
  })
  const text = await (
    await client.completions.create({ model: 'llama.cpp/coder', prompt: 'At', stream: true }).asResponse()
  ).text()
  t.notMatch(text, 'usage')
  t.ok(text.endsWith('data: [DONE]\n\n'))
})

t.test('several completions and log probabilities come in the form of this API', async t => {
  const logprobs = {
    tokens: ['a', 'bc'],
    token_logprobs: [null, -0.5],
    top_logprobs: [null, { bc: -0.5, d: -2 }],
    text_offset: [0, 1]
  }
  const { client, upstream } = await at(t, 'vllm', {
    pieces: [
      textAnswer(
        { index: 1, text: 'x', finish_reason: 'length' },
        { index: 0, text: 'abc', logprobs, finish_reason: 'stop' }
      )
    ]
  })
  const { choices } = await client.completions.create({
    model: 'vllm/coder',
    prompt: ['p'],
    n: 2,
    best_of: 2,
    logprobs: 2
  })
  t.strictSame(choices, [
    { index: 0, text: 'abc', logprobs, finish_reason: 'stop' },
    { index: 1, text: 'x', logprobs: null, finish_reason: 'length' }
  ] as never)
  t.match(upstream.requests[0]?.json, { prompt: 'p', n: 2, logprobs: 2 })
})

t.test('Mistral fills in the middle with its own endpoint, and only with code models', async t => {
  const { client, upstream } = await at(t, 'mistral', ({ json }) =>
    Reflect.get(Object(json), 'stream') === true
      ? { headers: eventStream, pieces: chatFrames(['re', 'turn']) }
      : { pieces: [chatAnswer('return')] }
  )
  const request = {
    model: 'mistral/codestral-latest',
    prompt: 'def f():',
    suffix: 'f()',
    seed: 3,
    user: 'u',
    logprobs: 1
  }
  const {
    choices: [choice]
  } = await client.completions.create(request)
  t.equal(choice?.text, 'return')
  t.strictSame(
    upstream.requests.map(({ path, json }) => [path, json]),
    [
      [
        '/v1/fim/completions',
        { model: 'codestral-latest', prompt: 'def f():', suffix: 'f()', max_tokens: 16, random_seed: 3 }
      ]
    ]
  )
  let text = ''
  for await (const chunk of await client.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.text ?? ''
  }
  t.equal(text, 'return')
  await t.rejects(client.completions.create({ ...request, model: 'mistral/mistral-large-latest' }), {
    status: 400,
    code: 'unsupported_parameter',
    param: 'suffix'
  })
  t.equal(
    (await client.completions.create({ model: 'mistral/mistral-large-latest', prompt: 'Hi' })).choices[0]
      ?.text,
    'return'
  )
  t.equal(upstream.requests.at(-1)?.path, '/v1/chat/completions')
})

t.test('a model that only chats gets the prompt as a message', async t => {
  const { client, upstream } = await at(t, 'openai', { pieces: [chatAnswer('Fine.')] })
  t.match(
    await client.completions.create({ model: 'openai/gpt-5', prompt: 'How are you?', max_tokens: 50 }),
    { object: 'text_completion', choices: [{ text: 'Fine.' }] }
  )
  const [seen] = upstream.requests
  t.equal(seen?.path, '/v1/chat/completions')
  t.match(seen?.json, { messages: [{ role: 'user', content: 'How are you?' }], max_completion_tokens: 50 })
  t.notOk('prompt' in Object(seen?.json))
  const { client: offline } = await at(t, 'openai', {
    status: 400,
    pieces: ['{"error":{"message":"too long","code":"context_length_exceeded","param":"messages"}}']
  })
  await t.rejects(offline.completions.create({ model: 'openai/gpt-5', prompt: 'x' }), {
    code: 'context_length_exceeded',
    param: 'prompt'
  })
})

t.test("OpenAI's text completion model is called through the completions API", async t => {
  const { client, upstream } = await at(t, 'openai', {
    pieces: [textAnswer({ index: 0, text: '!', finish_reason: 'stop' })]
  })
  t.equal(
    (await client.completions.create({ model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Hi' })).choices[0]
      ?.text,
    '!'
  )
  t.equal(upstream.requests[0]?.path, '/v1/completions')
})

t.test('a provider that cannot fill in the middle is skipped for one that can', async t => {
  const upstream = await fakeUpstream({
    pieces: [textAnswer({ index: 0, text: 'middle', finish_reason: 'stop' })]
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt('http://127.0.0.1:9', 'openai', 'openai'),
      upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm')
    ],
    routes: [{ name: 'code', models: ['openai/gpt-5', 'vllm/coder'] }]
  })
  const answer = await api.post(path, { model: 'code', prompt: 'a', suffix: 'b' })
  t.equal(answer.headers.get('x-headgate-model'), 'vllm/coder')
  t.match(await answer.json(), { choices: [{ text: 'middle' }] })
})

t.test('an unsupported field is refused by name', async t => {
  const { api, upstream } = await at(t, 'openai', { pieces: [chatAnswer('no')] })
  const request = { model: 'openai/gpt-5', prompt: 'x' }
  const rows: ReadonlyArray<readonly [body: object, status: number, param: string | undefined]> = [
    [{ suffix: 'y' }, 400, 'suffix'],
    [{ echo: true }, 400, 'echo'],
    [{ best_of: 3 }, 400, 'best_of'],
    [{ prompt: ['a', 'b'] }, 400, 'prompt'],
    [{ prompt: [] }, 400, 'prompt'],
    [{ prompt: [1, 2] }, 400, 'prompt'],
    [{ prompt: [[1, 2]] }, 400, 'prompt'],
    [{ prompt: undefined }, 422, undefined],
    [{ prompt: 7 }, 422, undefined],
    [{ max_tokens: 0 }, 422, undefined],
    [{ logprobs: 6 }, 422, undefined]
  ]
  for (const [body, status, param] of rows) {
    const answer = await api.post(path, { ...request, ...body })
    t.equal(answer.status, status, JSON.stringify(body))
    if (param !== undefined) {
      t.match(await answer.json(), {
        error: { type: 'invalid_request_error', code: 'unsupported_parameter', param }
      })
    }
  }
  for (const [prompt, message] of [
    [[1, 2], /as text: token ids/],
    [[[1], [2]], /as text: token ids/],
    [['a', 'b'], /^Send one prompt/]
  ] as const) {
    t.match(await (await api.post(path, { ...request, prompt })).json(), { error: { message } })
  }
  t.equal(upstream.requests.length, 0)
})

t.test(
  'the settings of a model apply if the request sets no limit; the default is 16',
  async t => {
    const upstream = await fakeUpstream({
      pieces: [textAnswer({ index: 0, text: 'ok', finish_reason: 'stop' })]
    })
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm')],
      routes: [
        {
          name: 'long',
          models: ['vllm/coder'],
          defaults: { 'vllm/coder': { max_completion_tokens: 8000 } }
        },
        { name: 'cold', models: ['vllm/coder'], defaults: { 'vllm/coder': { temperature: 0 } } }
      ]
    })
    const limit = async (body: object): Promise<unknown> => {
      await (await api.post(path, { prompt: 'x', ...body })).text()
      return Reflect.get(Object(upstream.requests.at(-1)?.json), 'max_tokens')
    }
    t.equal(await limit({ model: 'long' }), 8000)
    t.equal(await limit({ model: 'long', max_tokens: 50 }), 50)
    t.equal(await limit({ model: { model: 'vllm/coder', settings: { max_tokens: 70 } } }), 70)
    t.equal(await limit({ model: { model: 'long', settings: { max_tokens: 70 } } }), 70)
    t.equal(await limit({ model: 'cold' }), 16)
    t.equal(await limit({ model: 'vllm/coder' }), 16)
  }
)

t.test('keys, scopes, limits and dry runs work as on every endpoint', async t => {
  const { api, upstream } = await at(
    t,
    'vllm',
    { pieces: [textAnswer({ index: 0, text: 'ok', finish_reason: 'stop' })] },
    {
      chats: { id: 'k2', name: 'chats', endpoints: ['chat'] },
      slow: { id: 'k3', name: 'slow', endpoints: ['completions'], limits: { requestsPerMinute: 1 } }
    }
  )
  const request = { model: 'vllm/coder', prompt: 'x' }
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
  t.equal((await api.post(path, request, as('wrong'))).status, 401)
  t.equal((await api.post(path, request, as('chats'))).status, 403)
  t.same(
    [(await api.post(path, request, as('slow'))).status, (await api.post(path, request, as('slow'))).status],
    [200, 429]
  )
  const dry = await api.post(path, request, { headers: { 'x-headgate-dry-run': 'true' } })
  t.match(await dry.json(), { candidates: [{ model: 'vllm/coder' }] })
  t.equal(upstream.requests.length, 1)
})

t.test('a broken stream ends with an error, and the sandbox completes text too', async t => {
  const { api } = await at(t, 'vllm', {
    headers: eventStream,
    pieces: textFrames([{ index: 0, text: 'on', finish_reason: null }]).slice(0, 1),
    then: 'fin'
  })
  const text = await (await api.post(path, { model: 'vllm/coder', prompt: 'x', stream: true })).text()
  t.match(text, /"text":"on"[^]*event: error\ndata: \{"error":\{[^]*upstream_stream_interrupted/)
  const sandbox = await testGateway(t, {
    providers: [{ ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } }]
  })
  t.match(
    await (
      await sandbox.post(path, { model: 'sandbox/echo', prompt: 'Hello', logprobs: 1, max_tokens: 3 })
    ).json(),
    {
      object: 'text_completion',
      choices: [
        {
          text: "This is Headgate's",
          logprobs: { tokens: ['This', ' is', /Headgate/], text_offset: [0, 4, 7] },
          finish_reason: 'length'
        }
      ]
    }
  )
})

t.test('chat fields that no schema checked are dropped', async t => {
  const { api, upstream } = await at(t, 'vllm', {
    pieces: [textAnswer({ index: 0, text: ' a', logprobs: null, finish_reason: 'stop' })]
  })
  const foreign = {
    max_completion_tokens: 'abc',
    asWritten: {},
    text: { prompt: 'other' },
    tools: 1,
    mcp_servers: 'x',
    reasoning_effort: 7
  }
  const answer = await api.post(path, { model: 'vllm/m', prompt: 'return', ...foreign })
  t.equal(answer.status, 200)
  t.strictSame(JSON.parse(upstream.requests[0]?.text ?? ''), {
    model: 'm',
    prompt: 'return',
    max_tokens: 16
  })
})
