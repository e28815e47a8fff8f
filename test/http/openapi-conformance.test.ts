import t from 'tap'
import { conformance, type Answer } from '../support/conformance.ts'
import { wavOf } from '../support/forms.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { chatAnswer, eventStream, fakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { encodePng } from '../../lib/sandbox/png.ts'
import { openDatabase } from '../../lib/stores/database.ts'
import type { Test } from 'tap'

const chat = '/v1/chat/completions'
const deferred = '/v1/chat/deferred-completion/{request_id}'
const png = await encodePng(paint({ text: 'a', number: 0, width: 64, height: 64, transparent: false, squares: 4 }))

/** Scripts the provider of these tests: everything the document speaks of, and more. */
function script ({ path, json, method, text }: SeenRequest): Script {
  const streamed = /"stream":true/.test(text)
  if (method === 'GET') return json === undefined && pendingOnce() ? { status: 202 } : { pieces: [chatAnswer('later')] }
  if (/"deferred":true/.test(text)) return { pieces: ['{"request_id":"f15c114e-f47d"}'] }
  switch (path) {
    case '/chat/completions': return streamed ? { headers: eventStream, pieces: fullStream() } : { pieces: [fullCompletion()] }
    case '/images/generations': return { pieces: [JSON.stringify({
      created: 1763686800, data: [{ url: 'https://images.example/1.png', revised_prompt: 'A cat.' }],
      usage: { total_tokens: 30, input_tokens: 10, output_tokens: 20, input_tokens_details: { text_tokens: 10, image_tokens: 0 } },
      size: '1024x1024', quality: 'high', background: 'opaque', output_format: 'png'
    })] }
    case '/audio/transcriptions': return { pieces: [JSON.stringify({
      text: 'hi', logprobs: [{ token: 'hi', logprob: -0.1, bytes: [104, 105] }],
      usage: { type: 'tokens', input_tokens: 1, input_token_details: { text_tokens: 0, audio_tokens: 1 }, output_tokens: 1, total_tokens: 2 }
    })] }
    default: return { status: 404, pieces: ['{"error":{"message":"no such path","type":"invalid_request_error"}}'] }
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
  completion_tokens_details: { reasoning_tokens: 1, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 }
}
const logprobs = {
  content: [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [{ token: 'Hi', logprob: -0.1, bytes: null }] }], refusal: null
}
const annotations = [{ type: 'url_citation', url_citation: { start_index: 0, end_index: 2, url: 'https://a.example', title: 'A' } }]
const audio = { id: 'audio_1', data: 'AAAA', expires_at: 1763686800, transcript: 'Hi' }
const calls = [
  { id: 'call_1', type: 'function', function: { name: 'get', arguments: '{}' } },
  { id: 'call_2', type: 'custom', custom: { name: 'run', input: 'x' } }
]
const head = { id: 'chatcmpl-up', created: 1763686800, model: 'm-1', service_tier: 'default', system_fingerprint: 'fp_1' }

/** A message with each field that a message can have. */
const full = { role: 'assistant', content: 'Hi', refusal: null, annotations, audio, tool_calls: calls, reasoning_content: 'Hm.' }

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
  /** Calls, and holds the answer against the document. */
  readonly post: (path: string, body: unknown, init?: RequestInit) => Promise<Response>
  readonly form: (path: string, fields: Record<string, string | Blob>) => Promise<Response>
  readonly hold: (answer: Answer) => Promise<void>
  readonly missing: () => string[]
}

async function start (t: Test): Promise<Place> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const api = await testGateway(t, {
    providers: [
      { ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } },
      upstreamAt(upstream.url), upstreamAt(upstream.url, 'xai', 'xai')
    ],
    tools: { ...settings().tools, connectMs: 10_000, callMs: 10_000, loopMs: 20_000, allowedHosts: ['127.0.0.1'] },
    deferred: { forAllProviders: true, keepMs: 86_400_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
  }, {
    'image key': { id: 'key-2', name: 'images only', endpoints: ['images'] },
    'slow key': { id: 'key-3', name: 'one a minute', limits: { requestsPerMinute: 1 } }
  }, { database })
  const { findings, missing } = conformance(await (await api.get('/openapi.json')).json())
  const hold = async (answer: Answer): Promise<void> => {
    t.same(await findings(answer), [], `${answer.method} ${answer.path} ${answer.response.status}`)
  }
  const checked = async (path: string, response: Response): Promise<Response> => {
    await hold({ path, method: 'post', response: response.clone() })
    return response
  }
  return {
    api,
    hold,
    missing,
    post: async (path, body, init) => await checked(path, await api.post(path, body, init)),
    form: async (path, fields) => {
      const body = new FormData()
      for (const [name, value] of Object.entries(fields)) body.append(name, value)
      const authorization = { authorization: 'Bearer My API Key' }
      return await checked(path, await fetch(api.url + path, { method: 'POST', body, headers: authorization }))
    }
  }
}

t.test('every answer is what the served document says, and every answer of the document was seen', async t => {
  const { api, post, form, hold, missing } = await start(t)
  const sandbox = { model: 'sandbox/echo', messages: 'Hello there.' }
  const file = new Blob([new Uint8Array(wavOf(1))])
  const image = new Blob([new Uint8Array(png)])

  await t.test('chat', async () => {
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }]
    for (const stream of [false, true]) {
      await post(chat, { ...sandbox, stream, logprobs: true, top_logprobs: 2, stream_options: { include_usage: true, include_obfuscation: true } })
      await post(chat, { ...sandbox, stream, n: 2, tools, messages: 'What is the weather? [sandbox: rounds=1]', tool_choice: 'required' })
      await post(chat, { ...sandbox, stream, functions: [{ name: 'get_weather' }], function_call: { name: 'get_weather' } })
      await post(chat, { ...sandbox, stream, messages: 'No. [sandbox: refuse]' })
      await post(chat, { ...sandbox, stream, model: 'openai/gpt-4o' })
    }
  })

  await t.test('responses', async t => {
    const server = await startToolServer(t)
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' } }, { type: 'custom', name: 'patch' }]
    const mcp = [{ type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' }]
    for (const stream of [false, true]) {
      for (const more of [
        { include: ['message.output_text.logprobs'], top_logprobs: 2 }, { tools, input: 'What is the weather? Patch it.' },
        { input: 'No. [sandbox: refuse]' }, { reasoning: { effort: 'low' } }, { tools: mcp, input: 'Use echo.' }
      ]) await post('/v1/responses', { model: 'sandbox/echo', input: 'Hello.', stream, ...more })
    }
  })

  await t.test('chat with tools of MCP servers', async t => {
    const server = await startToolServer(t)
    const failed = await startToolServer(t, { status: 500 })
    for (const stream of [false, true]) {
      const response = await post(chat, {
        ...sandbox, stream, messages: 'Use echo. [sandbox: rounds=3]', mcp_servers: [
          { url: server.url, name: 'mine', allowed_tools: ['echo', 'progress'] }, { url: failed.url, name: 'broken' }
        ],
        max_turns: 2,
        stream_options: { include_tool_events: true }
      })
      const text = await response.text()
      for (const field of ['tools_executed', 'mcp_tool_results', 'mcp_server_errors', 'tool_loop_stopped']) t.match(text, field)
      if (stream) t.match(text, 'tool_event')
      else t.notMatch(text, 'tool_event', 'events belong to a stream')
    }
  })

  await t.test('deferred completions', async t => {
    const id = async (model: string, messages = 'Hello.'): Promise<string> => {
      const receipt = await (await post(chat, { model, messages, deferred: true })).json() as { request_id: string }
      return receipt.request_id
    }
    const native = await id('xai/grok-4')
    const statuses: number[] = []
    const retrieve = async (id: string, method: 'get' | 'delete' = 'get'): Promise<number> => {
      const response = await api.get(deferred.replace('{request_id}', id), { method: method.toUpperCase() })
      await hold({ path: deferred, method, response })
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

  await t.test('messages', async () => {
    await post('/v1/messages/count_tokens', { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] })
    const messages = [{ role: 'user', content: 'use get with {"a":1}' }]
    const tools = [{ name: 'get', input_schema: { type: 'object', properties: {} } }]
    for (const model of ['sandbox/thinker', 'openai/gpt-4o']) {
      for (const stream of [false, true]) await post('/v1/messages', { model, max_tokens: 100, messages, tools, stream })
    }
  })

  await t.test('embeddings', async () => {
    for (const encoding_format of ['float', 'base64']) await post('/v1/embeddings', { model: 'sandbox/embedding', input: ['a', 'b'], encoding_format })
  })

  await t.test('images', async () => {
    const prompt = 'A cat.'
    await post('/v1/images/generations', { model: 'sandbox/painter', prompt })
    await post('/v1/images/generations', { model: 'sandbox/painter', prompt, stream: true, partial_images: 1 })
    await post('/v1/images/generations', { model: 'openai/dall-e-3', prompt })
    await form('/v1/images/edits', { model: 'sandbox/painter', prompt, image })
    await form('/v1/images/edits', { model: 'sandbox/painter', prompt, image, stream: 'true' })
    await form('/v1/images/variations', { model: 'sandbox/painter', image })
  })

  await t.test('audio', async () => {
    const speech = { model: 'sandbox/speaker', input: 'Hello.', voice: 'any' }
    for (const response_format of ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']) await post('/v1/audio/speech', { ...speech, response_format })
    await post('/v1/audio/speech', { ...speech, response_format: 'wav', stream_format: 'sse' })
    const granularities = { 'timestamp_granularities[]': 'word' }
    for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) {
      for (const response_format of ['json', 'text', 'srt', 'vtt', 'verbose_json']) await form(path, { model: 'sandbox/listener', file, response_format })
    }
    await form('/v1/audio/transcriptions', { model: 'sandbox/listener', file, response_format: 'verbose_json', ...granularities })
    await form('/v1/audio/transcriptions', { model: 'sandbox/listener', file, stream: 'true' })
    await form('/v1/audio/transcriptions', { model: 'openai/gpt-4o-transcribe', file, 'include[]': 'logprobs' })
  })

  await t.test('documents', async () => {
    await post('/v1/ocr', { model: 'sandbox/reader', document: { document_url: `data:image/png;base64,${png.toString('base64')}` } })
  })

  await t.test('models, health and the document itself', async () => {
    for (const [path, url] of [
      ['/v1/models', '/v1/models'], ['/v1/models/{model}', '/v1/models/sandbox%2Fecho'], ['/v1/models/{model}', '/v1/models/none'],
      ['/health', '/health'], ['/openapi.json', '/openapi.json'], ['/livez', '/livez'], ['/readyz', '/readyz']
    ] as const) await hold({ path, method: 'get', response: await api.get(url) })
  })

  t.same(missing(), [])
})

t.test('a dry run answers what the document says', async t => {
  const { api, hold } = await start(t)
  const bodies: Readonly<Record<string, object>> = {
    [chat]: { messages: 'hi', model: ['sandbox/echo', 'openai/gpt-4o', 'sandbox/embedding'] },
    '/v1/messages': { messages: [{ role: 'user', content: 'hi' }], model: 'sandbox/echo', max_tokens: 10 },
    '/v1/responses': { model: 'sandbox/echo', input: 'a' },
    '/v1/embeddings': { model: 'sandbox/embedding', input: 'a' },
    '/v1/images/generations': { model: 'sandbox/painter', prompt: 'a' },
    '/v1/audio/speech': { model: 'sandbox/speaker', input: 'a', voice: 'any' },
    '/v1/ocr': { model: 'sandbox/reader', document: { document_url: 'https://example.com/a.pdf' } }
  }
  for (const [path, body] of Object.entries(bodies)) {
    const response = await api.post(path, body, { headers: { 'x-headgate-dry-run': 'true' } })
    t.equal(response.status, 200)
    await hold({ path, method: 'post', response, dryRun: true })
  }
})

t.test('errors of every class are what the document says, on every endpoint', async t => {
  const { api, post, form, hold } = await start(t)
  const bodies: ReadonlyArray<readonly [path: string, body: Record<string, unknown>, text: string]> = [
    [chat, { model: 'sandbox/echo' }, 'messages'],
    ['/v1/responses', { model: 'sandbox/echo' }, 'input'],
    ['/v1/embeddings', { model: 'sandbox/embedding' }, 'input'],
    ['/v1/images/generations', { model: 'sandbox/painter' }, 'prompt'],
    ['/v1/audio/speech', { model: 'sandbox/speaker', voice: 'any' }, 'input']
  ]
  for (const [path, body, text] of bodies) {
    const ask = async (words: string, more: object = {}, headers: Record<string, string> = {}): Promise<number> => {
      return (await post(path, { ...body, [text]: words, ...more }, { headers })).status
    }
    t.equal(await ask('x', {}, { authorization: 'Bearer no' }), 401)
    if (!path.includes('images')) t.equal(await ask('x', {}, { authorization: 'Bearer image key' }), 403)
    t.equal(await ask('x', { model: 'sandbox/none' }), 404)
    t.equal(await ask('x', { [text]: 7 }), path.includes('responses') ? 400 : 422)
    t.equal((await post(path, '{')).status, 400)
    t.equal((await post(path, '{}', { headers: { 'content-type': 'text/plain' } })).status, 415)
    t.equal((await post(path, JSON.stringify({ x: 'x'.repeat(1_100_000) }))).status, 413)
    for (const [status, answer] of [[400, 400], [401, 502], [402, 503], [404, 404], [429, 429], [500, 502], [503, 503], [504, 504]] as const) {
      t.equal(await ask(`x [sandbox: status=${status}]`), answer, `${path} ${status}`)
    }
    for (const fault of ['garbage', 'cut', 'error']) t.ok(await ask(`x [sandbox: ${fault}]`) >= 200)
  }
  const ask = async (content: unknown, more: object = {}, headers: Record<string, string> = {}): Promise<number> =>
    (await post('/v1/messages', { model: 'sandbox/echo', max_tokens: 10, messages: [{ role: 'user', content }], ...more }, { headers })).status
  t.equal(await ask('x', {}, { authorization: 'Bearer no' }), 401)
  t.equal(await ask('x', {}, { authorization: 'Bearer image key' }), 403)
  t.equal(await ask('x', { model: 'sandbox/none' }), 404)
  t.equal(await ask(7), 400)
  for (const [status, answer] of [[400, 400], [401, 502], [402, 503], [404, 404], [429, 429], [500, 502], [503, 503], [504, 504]] as const) {
    t.equal(await ask(`x [sandbox: status=${status}]`), answer, `messages ${status}`)
  }
  await ask429(api, hold)
  for (const [path, more] of [['/v1/audio/transcriptions', {}], ['/v1/audio/translations', {}], ['/v1/images/edits', { prompt: 'x' }], ['/v1/images/variations', {}]] as const) {
    t.equal((await form(path, { model: 'sandbox/none' })).status, 422)
    const field = path.includes('audio') ? 'file' : 'image'
    t.equal((await form(path, { ...more, model: 'sandbox/none', [field]: new Blob([path.includes('audio') ? new Uint8Array(wavOf(1)) : new Uint8Array(png)]) })).status, 404)
    t.equal((await form(path, { ...more, model: 'sandbox/echo', [field]: new Blob(['text that is no media']) })).status, 400)
    t.equal((await post(path, {})).status, 415)
  }
})

async function ask429 (api: TestGateway, hold: (answer: Answer) => Promise<void>): Promise<void> {
  for (let times = 0; times < 2; times++) {
    const response = await api.post(chat, { model: 'sandbox/echo', messages: 'hi' }, { headers: { authorization: 'Bearer slow key' } })
    await hold({ path: chat, method: 'post', response })
  }
}

t.test('an error in the middle of a stream is the event that the document speaks of', async t => {
  const { api, hold } = await start(t)
  for (const [path, body] of [
    [chat, { model: 'sandbox/echo', messages: 'Tell me more. [sandbox: cut after=3]', stream: true }],
    [chat, { model: 'sandbox/echo', messages: 'Tell me more. [sandbox: error after=3]', stream: true }]
  ] as const) {
    const response = await api.post(path, body)
    const copy = response.clone()
    await hold({ path, method: 'post', response })
    t.match(await copy.text(), /event: error\ndata: \{"error":[^\n]+\}\n\n$/)
    const message = await api.post('/v1/messages', { ...body, max_tokens: 100, messages: [{ role: 'user', content: body.messages }] })
    const copied = message.clone()
    await hold({ path: '/v1/messages', method: 'post', response: message })
    t.match(await copied.text(), /event: error\ndata: \{"type":"error","error":[^\n]+\}\n\n$/)
  }
})
