/**
 * Compares the answers of every endpoint with the served OpenAPI document: complete answers, streams, broken
 * streams, and each documented status. A status or field on one side only fails the test.
 */

import t from 'tap'
import { conformance, type Answer } from '../support/conformance.ts'
import { wavOf } from '../support/forms.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { chatAnswer, eventStream, fakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { raw } from '../support/raw.ts'
import { settles, until } from '../support/until.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { encodePng } from '../../lib/sandbox/png.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { readyz } from '../../pipelines/health.ts'
import { routedCall } from '../support/stages.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Test } from 'tap'

const chat = '/v1/chat/completions'
const deferred = '/v1/chat/deferred-completion/{request_id}'
const storedResponse = '/v1/responses/{response_id}'
const png = await encodePng(
  paint({ text: 'a', number: 0, width: 64, height: 64, transparent: false, squares: 4 })
)

/** The scripted provider of these tests; its answers have every documented field and some more. */
function script ({ path, json, method, text }: SeenRequest): Script {
  const streamed = /"stream":true/.test(text)
  const failing = Number(/fails-(\d+)/.exec(path + text)?.[1] ?? 200)
  if (/"deferred":true/.test(text)) {
    return {
      pieces: [JSON.stringify({ request_id: failing === 200 ? 'f15c114e-f47d' : `fails-${failing}` })]
    }
  }
  if (failing !== 200) return { status: failing, pieces: ['{"error":{"message":"No.","type":"no"}}'] }
  if (method === 'GET') {
    return json === undefined && pendingOnce() ? { status: 202 } : { pieces: [chatAnswer('later')] }
  }
  switch (path) {
    case '/chat/completions':
      return streamed ? { headers: eventStream, pieces: fullStream() } : { pieces: [fullCompletion()] }
    case '/images/generations':
      return {
        pieces: [
          JSON.stringify({
            created: 1763686800,
            data: [{ url: 'https://images.example/1.png', revised_prompt: 'A cat.' }],
            usage: {
              total_tokens: 30,
              input_tokens: 10,
              output_tokens: 20,
              input_tokens_details: { text_tokens: 10, image_tokens: 0 }
            },
            size: '1024x1024',
            quality: 'high',
            background: 'opaque',
            output_format: 'png'
          })
        ]
      }
    case '/audio/transcriptions':
      return {
        pieces: [
          JSON.stringify({
            text: 'hi',
            logprobs: [{ token: 'hi', logprob: -0.1, bytes: [104, 105] }],
            usage: {
              type: 'tokens',
              input_tokens: 1,
              input_token_details: { text_tokens: 0, audio_tokens: 1 },
              output_tokens: 1,
              total_tokens: 2
            }
          })
        ]
      }
    case '/responses/compact':
      return {
        pieces: [
          JSON.stringify({
            id: 'resp_c',
            object: 'response.compaction',
            created_at: 1763686800,
            output: [{ id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA' }],
            usage: {
              input_tokens: 3,
              input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
              output_tokens: 2,
              output_tokens_details: { reasoning_tokens: 0 },
              total_tokens: 5
            }
          })
        ]
      }
    case '/v1/messages/count_tokens':
      return { pieces: ['{"input_tokens":7}'] }
    default:
      return { status: 404, pieces: ['{"error":{"message":"no such path","type":"invalid_request_error"}}'] }
  }
}

let pendingAnswers = 0
function pendingOnce (): boolean {
  return pendingAnswers++ === 0
}

const usage = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  prompt_tokens_details: { cached_tokens: 1, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 1,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0
  }
}
const logprobs = {
  content: [
    {
      token: 'Hi',
      logprob: -0.1,
      bytes: [72, 105],
      top_logprobs: [{ token: 'Hi', logprob: -0.1, bytes: null }]
    }
  ],
  refusal: null
}
const annotations = [
  {
    type: 'url_citation',
    url_citation: { start_index: 0, end_index: 2, url: 'https://a.example', title: 'A' }
  }
]
const audio = { id: 'audio_1', data: 'AAAA', expires_at: 1763686800, transcript: 'Hi' }
const calls = [
  { id: 'call_1', type: 'function', function: { name: 'get', arguments: '{}' } },
  { id: 'call_2', type: 'custom', custom: { name: 'run', input: 'x' } }
]
const head = {
  id: 'chatcmpl-up',
  created: 1763686800,
  model: 'm-1',
  service_tier: 'default',
  system_fingerprint: 'fp_1'
}

/** A message with every possible field. */
const full = {
  role: 'assistant',
  content: 'Hi',
  refusal: null,
  annotations,
  audio,
  tool_calls: calls,
  reasoning_content: 'Hm.'
}

function fullCompletion (): string {
  const choices = [{ index: 0, message: full, logprobs, finish_reason: 'tool_calls' }]
  return JSON.stringify({ ...head, object: 'chat.completion', choices, usage })
}

function fullStream (): string[] {
  const chunk = (delta: object, more: object = {}): string => {
    const choices = [{ index: 0, delta, finish_reason: null, ...more }]
    return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`
  }
  const { tool_calls: _, refusal: __, ...rest } = full
  return [
    chunk(rest, { logprobs }),
    ...calls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
    chunk({}, { finish_reason: 'tool_calls' }),
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
    'data: [DONE]\n\n'
  ]
}

interface Place {
  readonly api: TestGateway
  /** Sends JSON, and compares the answer with the document. */
  readonly post: (path: string, body: unknown, init?: RequestInit) => Promise<Response>
  readonly form: (
    path: string,
    fields: Record<string, unknown>,
    headers?: Record<string, string>
  ) => Promise<Response>
  readonly compare: (answer: Answer) => Promise<void>
  readonly missing: () => string[]
}

/** A key whose check fails. */
const brokenKey = 'broken key'
const keys: Readonly<Record<string, ApiKey>> = {
  [testKey]: { id: 'key-1', name: 'test' },
  'useless key': { id: 'key-2', name: 'for no endpoint', endpoints: [] },
  'slow key': { id: 'key-3', name: 'one a minute', limits: { requestsPerMinute: 1 } },
  'poor key': { id: 'key-4', name: 'with a small budget', limits: { budget: { usd: 1e-9, per: 'day' } } }
}
function checkKey (presented: string): ApiKey | undefined {
  if (presented === brokenKey) throw new TypeError('the keys are broken')
  return keys[presented]
}

async function start (t: Test): Promise<Place> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const api = await testGateway(
    t,
    {
      server: { ...settings().server, aliases: false },
      providers: [
        { ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } },
        upstreamAt(upstream.url),
        upstreamAt(upstream.url, 'xai', 'xai'),
        upstreamAt(upstream.url, 'mistral', 'mistral'),
        { ...upstreamAt(upstream.url, 'anthropic', 'anthropic'), retries: 0 }
      ],
      tools: {
        ...settings().tools,
        connectMs: 10_000,
        callMs: 10_000,
        loopMs: 20_000,
        allowedHosts: ['127.0.0.1', 'example.com']
      },
      guards: [
        {
          name: 'words',
          use: 'pattern',
          at: ['request'],
          action: 'refuse',
          patterns: [{ name: 'word', match: 'forbidden', maxLength: 9 }]
        }
      ],
      deferred: { forAllProviders: true, keepMs: 86_400_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
    },
    {},
    { database, keys: { check: checkKey } }
  )
  const { findings, missing } = conformance(await (await api.get('/openapi.json')).json())
  const compare = async (answer: Answer): Promise<void> => {
    t.same(await findings(answer), [], `${answer.method} ${answer.path} ${answer.response.status}`)
  }
  const checked = async (path: string, response: Response): Promise<Response> => {
    await compare({ path, method: 'post', response: response.clone() })
    return response
  }
  return {
    api,
    compare,
    missing,
    post: async (path, body, init) => await checked(path, await api.post(path, body, init)),
    form: async (path, fields, headers) => {
      const body = new FormData()
      for (const [name, value] of Object.entries(fields)) {
        body.append(name, value instanceof Blob ? value : String(value))
      }
      return await checked(
        path,
        await fetch(api.url + path, {
          method: 'POST',
          body,
          headers: { authorization: `Bearer ${testKey}`, ...headers }
        })
      )
    }
  }
}

const { api, post, form, compare, missing } = await start(t)
const file = new Blob([new Uint8Array(wavOf(1))])
const image = new Blob([new Uint8Array(png)])

const sandbox = { model: 'sandbox/echo', messages: 'Hello there.' }

t.test('chat completions are as documented', async () => {
  const tools = [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } } }
      }
    }
  ]
  for (const stream of [false, true]) {
    await post(chat, {
      ...sandbox,
      stream,
      logprobs: true,
      top_logprobs: 2,
      stream_options: { include_usage: true, include_obfuscation: true }
    })
    await post(chat, {
      ...sandbox,
      stream,
      n: 2,
      tools,
      messages: 'What is the weather? [sandbox: rounds=1]',
      tool_choice: 'required'
    })
    await post(chat, {
      ...sandbox,
      stream,
      functions: [{ name: 'get_weather' }],
      function_call: { name: 'get_weather' }
    })
    await post(chat, { ...sandbox, stream, messages: 'No. [sandbox: refuse]' })
    await post(chat, { ...sandbox, stream, model: 'openai/gpt-4o' })
  }
})

t.test('text completions are as documented', async () => {
  for (const stream of [false, true]) {
    await post('/v1/completions', {
      model: 'sandbox/echo',
      prompt: 'Hello there.',
      n: 2,
      logprobs: 2,
      stream,
      stream_options: { include_usage: true }
    })
    await post('/v1/completions', { model: 'sandbox/echo', prompt: 'No. [sandbox: refuse]', stream })
  }
})

t.test('responses are as documented', async t => {
  const server = await startToolServer(t)
  const tools = [
    { type: 'function', name: 'get_weather', parameters: { type: 'object' } },
    { type: 'custom', name: 'patch' }
  ]
  const mcp = [{ type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' }]
  for (const stream of [false, true]) {
    for (const more of [
      { include: ['message.output_text.logprobs'], top_logprobs: 2 },
      { tools, input: 'What is the weather? Patch it.' },
      { input: 'No. [sandbox: refuse]' },
      { reasoning: { effort: 'low' } },
      { tools: mcp, input: 'Use echo.' }
    ]) {
      await post('/v1/responses', { model: 'sandbox/echo', input: 'Hello.', stream, ...more })
    }
  }
})

t.test('stored responses are as documented', async () => {
  await post('/v1/responses/input_tokens', { model: 'sandbox/echo', input: 'Hello.' })
  await post('/v1/responses/compact', { model: 'sandbox/echo', input: 'Hello.' })
  await post('/v1/responses/compact', { model: 'openai/m', input: 'Hello.' })
  const { id } = (await (
    await api.post('/v1/responses', { model: 'sandbox/echo', input: 'Hello.' })
  ).json()) as { id: string }
  const streamed = async (input: string): Promise<string> => {
    const response = await api.post('/v1/responses', {
      model: 'sandbox/echo',
      input,
      background: true,
      stream: true
    })
    return /"id":"(resp_\w+)"/.exec(await response.text())?.[1] ?? ''
  }
  const made = await streamed('Hello.')
  await compare({
    path: storedResponse,
    method: 'get',
    response: await api.get(`/v1/responses/${await streamed('More. [sandbox: cut after=2]')}?stream=true`)
  })
  for (const query of ['stream=true', 'stream=x']) {
    await compare({
      path: storedResponse,
      method: 'get',
      response: await api.get(`/v1/responses/${made}?${query}`)
    })
  }
  for (const one of [made, id, 'none']) {
    await compare({
      path: `${storedResponse}/cancel`,
      method: 'post',
      response: await api.get(`/v1/responses/${one}/cancel`, { method: 'POST' })
    })
  }
  for (const limit of [1, 0]) {
    await compare({
      path: `${storedResponse}/input_items`,
      method: 'get',
      response: await api.get(`/v1/responses/${id}/input_items?limit=${limit}`)
    })
  }
  await compare({ path: storedResponse, method: 'get', response: await api.get(`/v1/responses/${id}`) })
  for (const _ of [200, 404]) {
    await compare({
      path: storedResponse,
      method: 'delete',
      response: await api.get(`/v1/responses/${id}`, { method: 'DELETE' })
    })
  }
  for (const rest of ['', '/input_items']) {
    await compare({
      path: storedResponse + rest,
      method: 'get',
      response: await api.get(`/v1/responses/${id}${rest}`)
    })
  }
})

t.test('chat with tools of tool servers', async t => {
  const server = await startToolServer(t)
  const failed = await startToolServer(t, { status: 500 })
  for (const stream of [false, true]) {
    const response = await post(chat, {
      ...sandbox,
      stream,
      messages: 'Use echo. [sandbox: rounds=3]',
      mcp_servers: [
        { url: server.url, name: 'mine', allowed_tools: ['echo', 'progress'] },
        { url: failed.url, name: 'broken' }
      ],
      max_turns: 2,
      stream_options: { include_tool_events: true }
    })
    const text = await response.text()
    for (const field of ['tools_executed', 'mcp_tool_results', 'mcp_server_errors', 'tool_loop_stopped']) {
      t.match(text, field)
    }
    if (stream) t.match(text, 'tool_event')
    else t.notMatch(text, 'tool_event', 'events belong to a stream')
  }
})

t.test('deferred completions are as documented', async t => {
  const id = async (model: string, messages = 'Hello.'): Promise<string> => {
    const receipt = (await (await post(chat, { model, messages, deferred: true })).json()) as {
      request_id: string
    }
    return receipt.request_id
  }
  const native = await id('xai/grok-4')
  const statuses: number[] = []
  const retrieve = async (id: string, method: 'get' | 'delete' = 'get'): Promise<number> => {
    const response = await api.get(deferred.replace('{request_id}', id), { method: method.toUpperCase() })
    await compare({ path: deferred, method, response })
    return response.status
  }
  statuses.push(await retrieve(native), await retrieve(native))
  t.same(statuses, [202, 200])
  const own = await id('sandbox/echo')
  let done = 202
  await until(() => {
    if (done === 202) void retrieve(own).then(status => { done = status })
    return done !== 202
  }, 'the deferred completion')
  t.equal(done, 200)
  const slow = await id('sandbox/echo', 'Wait. [sandbox: delay ms=60000]')
  t.equal(await retrieve(slow, 'delete'), 200)
  t.equal(await retrieve('unknown'), 404)
  t.equal(await retrieve('unknown', 'delete'), 404)
})

t.test('messages are as documented', async t => {
  const counted = async (model: string, headers: Record<string, string> = {}): Promise<number> =>
    (
      await post(
        '/v1/messages/count_tokens',
        { model, messages: [{ role: 'user', content: 'hi' }] },
        { headers }
      )
    ).status
  t.equal(await counted('sandbox/echo'), 200)
  t.equal(await counted('anthropic/claude-sonnet-4-5'), 200, 'by the provider')
  for (const [theirs, ours] of [
    [429, 429],
    [401, 502],
    [504, 504],
    [503, 503]
  ] as const) {
    t.equal(await counted(`anthropic/fails-${theirs}`), ours)
  }
  t.equal(await counted('anthropic/fails-402', { 'x-provider-key': 'mine' }), 402)
  const messages = [{ role: 'user', content: 'use get with {"a":1}' }]
  const tools = [{ name: 'get', input_schema: { type: 'object', properties: {} } }]
  for (const model of ['sandbox/thinker', 'openai/gpt-4o']) {
    for (const stream of [false, true]) {
      await post('/v1/messages', { model, max_tokens: 100, messages, tools, stream })
    }
  }
})

t.test('embeddings are as documented', async () => {
  for (const encoding_format of ['float', 'base64']) {
    await post('/v1/embeddings', { model: 'sandbox/embedding', input: ['a', 'b'], encoding_format })
  }
})

t.test('images are as documented', async () => {
  const prompt = 'A cat.'
  await post('/v1/images/generations', { model: 'sandbox/painter', prompt })
  await post('/v1/images/generations', { model: 'sandbox/painter', prompt, stream: true, partial_images: 1 })
  await post('/v1/images/generations', { model: 'openai/dall-e-3', prompt })
  await form('/v1/images/edits', { model: 'sandbox/painter', prompt, image })
  await form('/v1/images/edits', { model: 'sandbox/painter', prompt, image, stream: 'true' })
  await form('/v1/images/variations', { model: 'sandbox/painter', image })
})

t.test('speech and transcripts are as documented', async () => {
  const speech = { model: 'sandbox/speaker', input: 'Hello.', voice: 'any' }
  for (const response_format of ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']) {
    await post('/v1/audio/speech', { ...speech, response_format })
  }
  await post('/v1/audio/speech', { ...speech, response_format: 'wav', stream_format: 'sse' })
  const granularities = { 'timestamp_granularities[]': 'word' }
  for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) {
    for (const response_format of ['json', 'text', 'srt', 'vtt', 'verbose_json']) {
      await form(path, { model: 'sandbox/listener', file, response_format })
    }
  }
  await form('/v1/audio/transcriptions', {
    model: 'sandbox/listener',
    file,
    response_format: 'verbose_json',
    ...granularities
  })
  await form('/v1/audio/transcriptions', { model: 'sandbox/listener', file, stream: 'true' })
  await form('/v1/audio/transcriptions', { model: 'openai/gpt-4o-transcribe', file, 'include[]': 'logprobs' })
})

t.test('pages of documents are as documented', async () => {
  await post('/v1/ocr', {
    model: 'sandbox/reader',
    document: { document_url: `data:image/png;base64,${png.toString('base64')}` }
  })
})

t.test('models, health and the OpenAPI document', async () => {
  for (const [path, url] of [
    ['/v1/models', '/v1/models'],
    ['/v1/models/{model}', '/v1/models/sandbox%2Fecho'],
    ['/v1/models/{model}', '/v1/models/none'],
    ['/v1/key', '/v1/key'],
    ['/health', '/health'],
    ['/openapi.json', '/openapi.json'],
    ['/livez', '/livez'],
    ['/readyz', '/readyz']
  ] as const) {
    await compare({ path, method: 'get', response: await api.get(url) })
  }
  const { status, headers, body } = await readyz({ ready: () => false })(routedCall(undefined))
  await compare({
    path: '/readyz',
    method: 'get',
    response: new Response(typeof body === 'string' ? body : undefined, { status, headers })
  })
})

t.test('a dry run answers as documented', async t => {
  const bodies: Readonly<Record<string, object>> = {
    [chat]: { messages: 'hi', model: ['sandbox/echo', 'openai/gpt-4o', 'sandbox/embedding'] },
    '/v1/completions': { model: 'sandbox/echo', prompt: 'a' },
    '/v1/messages': { messages: [{ role: 'user', content: 'hi' }], model: 'sandbox/echo', max_tokens: 10 },
    '/v1/messages/count_tokens': { messages: [{ role: 'user', content: 'hi' }], model: 'sandbox/echo' },
    '/v1/responses': { model: 'sandbox/echo', input: 'a' },
    '/v1/responses/input_tokens': { model: 'sandbox/echo', input: 'a' },
    '/v1/responses/compact': { model: 'openai/m', input: 'a' },
    '/v1/embeddings': { model: 'sandbox/embedding', input: 'a' },
    '/v1/images/generations': { model: 'sandbox/painter', prompt: 'a' },
    '/v1/audio/speech': { model: 'sandbox/speaker', input: 'a', voice: 'any' },
    '/v1/ocr': { model: 'sandbox/reader', document: { document_url: 'https://example.com/a.pdf' } }
  }
  for (const [path, body] of Object.entries(bodies)) {
    const response = await api.post(path, body, { headers: { 'x-headgate-dry-run': 'true' } })
    t.equal(response.status, 200)
    t.match(await response.clone().json(), { object: 'route.decision' }, path)
    await compare({ path, method: 'post', response, dryRun: true })
  }
})

/** A valid request for each endpoint with a body, without its model. */
interface Request {
  readonly path: string
  readonly fields: Record<string, unknown>
  readonly isForm?: boolean
  /** The provider that takes any model. Default: `openai`. */
  readonly provider?: string
  /** The status for a request of the wrong shape. Default: 422. */
  readonly wrongShape?: number
  /** False if no provider is called. */
  readonly isRouted?: boolean
}

const messages = [{ role: 'user', content: 'hi' }]
const requests: readonly Request[] = [
  { path: chat, fields: { messages } },
  { path: '/v1/completions', fields: { prompt: 'hi' } },
  { path: '/v1/messages', fields: { messages, max_tokens: 10 }, wrongShape: 400 },
  { path: '/v1/messages/count_tokens', fields: { messages }, wrongShape: 400, isRouted: false },
  { path: '/v1/responses', fields: { input: 'hi' }, wrongShape: 400 },
  { path: '/v1/responses/input_tokens', fields: { input: 'hi' }, wrongShape: 400, isRouted: false },
  { path: '/v1/responses/compact', fields: { input: 'hi' }, wrongShape: 400 },
  { path: '/v1/embeddings', fields: { input: 'hi' } },
  { path: '/v1/images/generations', fields: { prompt: 'hi' } },
  { path: '/v1/images/edits', fields: { prompt: 'hi', image }, isForm: true },
  { path: '/v1/images/variations', fields: { image }, isForm: true },
  {
    path: '/v1/ocr',
    fields: { document: { document_url: 'https://example.com/a.pdf' } },
    provider: 'mistral'
  },
  { path: '/v1/audio/speech', fields: { input: 'hi', voice: 'any' } },
  { path: '/v1/audio/transcriptions', fields: { file }, isForm: true },
  { path: '/v1/audio/translations', fields: { file }, isForm: true }
]

t.test('request errors are as documented on every endpoint', async t => {
  for (const { path, fields, isForm = false, provider = 'openai', wrongShape = 422 } of requests) {
    const send = async (changes: Record<string, unknown>, key = testKey): Promise<number> => {
      const body = { ...fields, model: `${provider}/m`, ...changes }
      const headers = { authorization: `Bearer ${key}` }
      return (await (isForm ? form(path, body, headers) : post(path, body, { headers }))).status
    }
    const refused = async (status: number, response: Promise<number>, why: string): Promise<void> => {
      t.equal(await response, status, `${path}: ${why}`)
    }
    await refused(401, send({}, 'no'), 'an unknown key')
    await refused(403, send({}, 'useless key'), 'a key for other endpoints')
    await refused(500, send({}, brokenKey), 'a fault of the gateway')
    await refused(404, send({ model: 'nowhere/none' }), 'an unknown model')
    await refused(
      wrongShape,
      isForm ? form(path, { model: 'm' }).then(({ status }) => status) : send({ model: 7 }),
      'a wrong shape'
    )
    await refused(
      415,
      post(path, isForm ? {} : '{}', {
        headers: { 'content-type': isForm ? 'application/json' : 'text/plain' }
      }).then(({ status }) => status),
      'another media type'
    )
    if (isForm) continue
    await refused(
      400,
      post(path, '{').then(({ status }) => status),
      'no JSON'
    )
    await refused(
      413,
      post(path, JSON.stringify({ x: 'x'.repeat(3_000_000) })).then(({ status }) => status),
      'a large body'
    )
  }
})

t.test('provider failures are as documented on every endpoint', async t => {
  for (const { path, fields, isForm = false, provider = 'openai', isRouted = true } of requests) {
    if (!isRouted) continue
    const send = async (status: number, headers: Record<string, string> = {}): Promise<number> => {
      const body = { ...fields, model: `${provider}/fails-${status}` }
      return (await (isForm ? form(path, body, headers) : post(path, body, { headers }))).status
    }
    for (const [theirs, ours] of [
      [400, 400],
      [401, 502],
      [402, 503],
      [404, 404],
      [409, 502],
      [413, 413],
      [418, provider === 'mistral' ? 400 : 418],
      [422, 400],
      [429, 429],
      [500, 502],
      [503, 503],
      [504, 504]
    ] as const) {
      t.equal(await send(theirs), ours, `${path}: ${theirs} of the provider`)
    }
    for (const status of [401, 402, 403, 429]) {
      t.equal(
        await send(status, { 'x-provider-key': 'mine' }),
        status,
        `${path}: ${status} for the caller's key`
      )
    }
  }
})

t.test('unreadable answers and key limits are as documented', async t => {
  for (const fault of ['garbage', 'cut', 'error']) {
    const text = `x [sandbox: ${fault}]`
    for (const [path, body] of [
      [chat, { model: 'sandbox/echo', messages: text }],
      ['/v1/completions', { model: 'sandbox/echo', prompt: text }],
      [
        '/v1/messages',
        { model: 'sandbox/echo', messages: [{ role: 'user', content: text }], max_tokens: 10 }
      ],
      ['/v1/responses', { model: 'sandbox/echo', input: text }],
      ['/v1/embeddings', { model: 'sandbox/embedding', input: text }],
      ['/v1/images/generations', { model: 'sandbox/painter', prompt: text }]
    ] as const) {
      t.equal((await post(path, body)).status, 502, `${path} ${fault}`)
    }
  }
  const slow = { headers: { authorization: 'Bearer slow key' } }
  const statuses = [await post(chat, sandbox, slow), await post(chat, sandbox, slow)].map(
    ({ status }) => status
  )
  t.same(statuses, [200, 429])
  const poor = await post(
    chat,
    { model: 'openai/gpt-4o', messages: 'hi' },
    { headers: { authorization: 'Bearer poor key' } }
  )
  t.equal(poor.status, 402)
  t.match(poor.headers.get('x-headgate-budget-reset'), /^\d+$/)
})

t.test('a refusal by a guard is as documented', async t => {
  for (const { path, fields, isForm = false, provider = 'openai' } of requests) {
    const text = JSON.stringify({ ...fields, model: `${provider}/m` }).replaceAll('"hi"', '"forbidden"')
    if (isForm || !text.includes('forbidden')) continue
    const response = await post(path, text)
    t.equal(response.status, 400, path)
    t.match(await response.text(), /content_refused/, path)
  }
})

const bodiless: ReadonlyArray<readonly [method: 'get' | 'delete' | 'post', path: string, url?: string]> = [
  ['post', `${storedResponse}/cancel`, '/v1/responses/unknown/cancel'],
  ['get', deferred, deferred.replace('{request_id}', 'unknown')],
  ['delete', deferred, deferred.replace('{request_id}', 'unknown')],
  ['get', storedResponse, '/v1/responses/unknown'],
  ['delete', storedResponse, '/v1/responses/unknown'],
  ['get', `${storedResponse}/input_items`, '/v1/responses/unknown/input_items'],
  ['get', '/v1/models'],
  ['get', '/v1/models/{model}', '/v1/models/none'],
  ['get', '/v1/key'],
  ['get', '/health'],
  ['get', '/livez'],
  ['get', '/readyz'],
  ['get', '/openapi.json']
]

t.test('errors of requests without a body are as documented', async t => {
  for (const [method, path, url = path] of bodiless) {
    for (const [key, status] of [
      ['no', 401],
      ['useless key', 403],
      [brokenKey, 500]
    ] as const) {
      const response = await api.get(url, {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${key}` }
      })
      await compare({ path, method, response })
      if (!['/livez', '/readyz', '/openapi.json'].includes(path)) {
        t.equal(response.status, path === '/v1/key' && status === 403 ? 200 : status, `${method} ${path}`)
      }
    }
  }
})

t.test('provider failures of deferred completions are as documented', async t => {
  for (const [theirs, ours, headers] of [
    [400, 400],
    [418, 418],
    [429, 429],
    [500, 502],
    [503, 503],
    [504, 504],
    [401, 401, { 'x-provider-key': 'mine' }],
    [402, 402, { 'x-provider-key': 'mine' }]
  ] as const) {
    const receipt = (await (
      await post(
        chat,
        { model: `xai/fails-${theirs}`, messages: 'hi', deferred: true },
        { headers: { ...headers } }
      )
    ).json()) as { request_id: string }
    const response = await api.get(deferred.replace('{request_id}', receipt.request_id), {
      headers: { ...headers }
    })
    t.equal(response.status, ours, `${theirs} of the provider`)
    await compare({ path: deferred, method: 'get', response })
  }
})

/** Writes all requests at once into one connection, and returns the answer to the last. */
async function pipelined (t: Test, url: string, texts: readonly string[]): Promise<Response> {
  const socket = await raw(t, url)
  socket.write(texts.join(''))
  let received = ''
  for await (const piece of socket) {
    received += String(piece)
    const answers = answersIn(received)
    if (answers.length === texts.length) return answers.at(-1) ?? new Response()
  }
  throw new Error(`the connection closed after ${received}`)
}

function answersIn (text: string): Response[] {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return []
  const [first = '', ...lines] = text.slice(0, end - 4).split('\r\n')
  // each line is a name and a value
  const headers = new Headers(lines.map(line => line.split(': ', 2) as [string, string]))
  const length = Number(headers.get('content-length'))
  if (text.length < end + length) return []
  const answer = new Response(text.slice(end, end + length), { status: Number(first.split(' ')[1]), headers })
  return [answer, ...answersIn(text.slice(end + length))]
}

t.test('HTTP-level refusals are as documented on every endpoint', async t => {
  const strict = await testGateway(t, { limits: { ...settings().limits, pipelinedRequests: 1, bodyMs: 50 } })
  const operations = [...bodiless, ...requests.map(({ path }) => ['post', path] as const)]
  await Promise.all(
    operations.map(async ([method, path, url = path]) => {
      const isForm = requests.some(request => request.path === path && request.isForm === true)
      const text = (lines: readonly string[] = []): string =>
        [
          `${method.toUpperCase()} ${url} HTTP/1.1`,
          'host: x',
          `authorization: Bearer ${testKey}`,
          ...(method === 'post'
            ? [
                `content-type: ${isForm ? 'multipart/form-data; boundary=x' : 'application/json'}`,
                'content-length: 10'
              ]
            : []),
          ...lines,
          '',
          ''
        ].join('\r\n')
      const refused = async (status: number, texts: readonly string[]): Promise<void> => {
        const response = await settles(pipelined(t, strict.url, texts), `${method} ${path} ${status}`)
        t.equal(response.status, status, `${method} ${path}`)
        await compare({ path, method, response })
      }
      await refused(503, ['GET /livez HTTP/1.1\r\nhost: x\r\n\r\n', text()])
      await refused(417, [text(['expect: everything'])])
      if (requests.some(request => request.path === path)) await refused(408, [text()])
    })
  )
})

t.test('an error in the middle of a stream is the documented event', async t => {
  for (const fault of ['cut after=1', 'error after=1', 'garbage after=1']) {
    const text = `Say more about it. [sandbox: ${fault}]`
    const echo = { model: 'sandbox/echo', stream: true }
    const painter = {
      model: 'sandbox/painter',
      prompt: text,
      stream: true,
      partial_images: 2,
      size: '256x256'
    }
    const asError = /event: error\ndata: \{"error":[^\n]+\}\n\n$/
    for (const [path, fields, last = asError] of [
      [chat, { ...echo, messages: text }],
      ['/v1/completions', { ...echo, prompt: text }],
      [
        '/v1/messages',
        { ...echo, max_tokens: 100, messages: [{ role: 'user', content: text }] },
        /event: error\ndata: \{"type":"error","error":[^\n]+\}\n\n$/
      ],
      [
        '/v1/responses',
        { ...echo, input: text },
        /event: response\.failed\ndata: \{"type":"response\.failed"[^\n]+\}\n\n(data: \[DONE\]\n\n)?$/
      ],
      ['/v1/audio/speech', { model: 'sandbox/speaker', input: text, voice: 'any', stream_format: 'sse' }],
      ['/v1/images/generations', painter]
    ] as const) {
      t.match(await (await post(path, fields)).text(), last, `${path} ${fault}`)
    }
    for (const [path, fields] of [
      ['/v1/images/edits', { ...painter, image }],
      ['/v1/audio/transcriptions', { model: 'sandbox/listener', file, prompt: text, stream: true }]
    ] as const) t.match(await (await form(path, fields)).text(), asError, `${path} ${fault}`)
  }
})

/** Documented answers that no test can cause, each with the reason. */
const unreachable: Readonly<Record<string, string>> = Object.fromEntries(
  ['/livez', '/readyz', '/openapi.json'].map(path => [
    `get ${path} 500 application/json`,
    'uses nothing that can fail; a mistake of ours would be a 500'
  ])
)

t.test('every documented answer was seen', async t => {
  // Every test of the admin API compares its answers, see `support/admin`.
  t.same(missing().filter(answer => unreachable[answer] === undefined && !answer.includes('/admin/v1/')), [])
  t.same(Object.keys(unreachable).filter(answer => !missing().includes(answer)), [], 'exceptions to remove')
})
