/** POST /v1/messages over HTTP: headers, statuses and bodies that its clients act on. */

import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { Test } from 'tap'

const path = '/v1/messages'
const question = { model: 'sandbox/echo', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }

async function sandbox (t: Test, parts: Partial<Settings> = {}): Promise<TestGateway> {
  return await testGateway(t, {
    providers: [{ ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } }],
    ...parts
  })
}

/** Starts a provider of some kind that answers a chat, and returns a function that calls it. */
async function translated (
  t: Test,
  kind: ProviderKind,
  script: Script = { pieces: [chatAnswer('ok')] }
): Promise<{ upstream: FakeUpstream, ask: (more: object) => Promise<Response> }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(upstream.url, kind, kind)] })
  const model = kind === 'openai' ? 'openai/gpt-5' : `${kind}/some-model`
  return { upstream, ask: async more => await api.post(path, { ...question, model, ...more }) }
}

async function sentTo (upstream: FakeUpstream): Promise<Record<string, unknown>> {
  // JSON of ours
  return (await upstream.request(upstream.requests.length - 1)).json as Record<string, unknown>
}

t.test(
  "every answer has its id as `request-id`, and its key's limits in Anthropic's headers",
  async t => {
    const api = await testGateway(
      t,
      { providers: [{ ...upstreamAt('sandbox:', 'sandbox', 'sandbox') }] },
      {
        limited: { id: 'k', name: 'k', limits: { requestsPerMinute: 1 } }
      }
    )
    const headers = { authorization: 'Bearer limited', 'x-request-id': 'mine' }
    const first = await api.post(`${path}?beta=true`, question, { headers })
    t.equal(first.status, 200)
    t.equal(first.headers.get('request-id'), 'mine')
    t.equal(first.headers.get('anthropic-ratelimit-requests-limit'), '1')
    t.match(first.headers.get('anthropic-ratelimit-requests-reset'), /^\d{4}-\d\d-\d\dT/)
    const second = await api.post(path, question, { headers })
    t.equal(second.status, 429)
    t.equal(second.headers.get('anthropic-ratelimit-requests-remaining'), '0')
    t.match(Number(second.headers.get('retry-after')), Number)
    t.match(await second.json(), { type: 'error', error: { type: 'rate_limit_error' }, request_id: 'mine' })
  }
)

t.test('every error body is in this dialect', async t => {
  const api = await sandbox(t)
  const rows: ReadonlyArray<
    readonly [
      title: string,
      answer: Response,
      status: number,
      body: object,
      headers?: Record<string, string>
    ]
  > = [
    [
      'no key',
      await fetch(api.url + path, { method: 'POST' }),
      401,
      { error: { type: 'authentication_error' } },
      { 'x-should-retry': 'false' }
    ],
    ['no JSON', await api.post(path, '{'), 400, { error: { type: 'invalid_request_error' } }],
    [
      'a wrong shape',
      await api.post(path, { ...question, messages: [{ role: 'tool', content: 'x' }] }),
      400,
      { error: { type: 'invalid_request_error', message: /^messages\.0\.role: / } }
    ],
    [
      'no limit',
      await api.post(path, { ...question, max_tokens: undefined }),
      400,
      { error: { message: 'max_tokens: Field required' } }
    ],
    [
      'an unknown model',
      await api.post(path, { ...question, model: 'sandbox/none' }),
      404,
      { error: { type: 'not_found_error', message: 'model: sandbox/none' } }
    ],
    [
      'a thread',
      await api.post(path, { ...question, thread: { type: 'create' } }),
      400,
      { error: { type: 'invalid_request_error', details: { error_code: 'thread_unsupported_request' } } }
    ],
    [
      'a server tool',
      await api.post(path, { ...question, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
      400,
      { error: { message: /^tools\.0: Input tag 'web_search_20250305'/ } }
    ],
    [
      'too long a prompt',
      await api.post(path, {
        ...question,
        messages: [{ role: 'user', content: '[sandbox: status=400 code=context_length_exceeded]' }]
      }),
      400,
      { error: { message: /^prompt is too long/ } }
    ],
    [
      'another path',
      await api.post('/v1/messages/batches', {}),
      404,
      {
        error: {
          type: 'not_found_error',
          message: /^Not found: POST \/v1\/messages\/batches\. Batches are not available/
        }
      }
    ],
    ['another method', await api.get(path), 405, { error: { type: 'invalid_request_error' } }],
    [
      'another service',
      await api.get('/v1/files', { headers: { 'anthropic-version': '2023-06-01' } }),
      404,
      {
        error: {
          type: 'not_found_error',
          message: /^Not found: GET \/v1\/files\. Files are not stored here/
        }
      }
    ]
  ]
  for (const [title, answer, status, body, headers = {}] of rows) {
    t.equal(answer.status, status, title)
    const id = answer.headers.get('x-request-id')
    t.equal(answer.headers.get('request-id'), id, title)
    t.match(await answer.json(), { type: 'error', ...body, request_id: id }, title)
    for (const [name, value] of Object.entries(headers)) t.equal(answer.headers.get(name), value, title)
  }
  const openai = await api.get('/v1/nothing')
  t.match(await openai.json(), { error: { code: 'not_found' } }, 'other callers read errors as before')
})

t.test('the key may be in either of the two headers', async t => {
  const api = await sandbox(t)
  for (const headers of [
    { authorization: 'Bearer wrong', 'x-api-key': testKey },
    { authorization: `Bearer ${testKey}`, 'x-api-key': 'wrong' }
  ]) {
    t.equal((await api.post(path, question, { headers })).status, 200)
  }
})

t.test('the sandbox ignores what agents put around a prompt', async t => {
  const api = await sandbox(t)
  const tools = [{ name: 'write', input_schema: { type: 'object', properties: {} } }]
  const answer = await api.post(path, {
    ...question,
    tools,
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'text',
            text: '<system-reminder>\nuse write and [sandbox: status=500]\n</system-reminder>'
          },
          { type: 'text', text: 'say hello' }
        ]
      },
      { role: 'system', content: 'use write' }
    ]
  })
  t.match(await answer.json(), { content: [{ type: 'text', text: /hello/ }], stop_reason: 'end_turn' })
})

t.test('a request is translated to what the provider accepts: OpenAI', async t => {
  const { upstream, ask } = await translated(t, 'openai')
  const answer = await ask({
    system: [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b' }
    ],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
      { role: 'system', content: 'now' },
      { role: 'user', content: 'go' }
    ],
    tools: [{ name: 'read', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'max' },
    stop_sequences: ['1', '2', '3', '4', '5'],
    max_tokens: 10_000_000
  })
  t.equal(answer.status, 200, await answer.clone().text())
  const sent = await sentTo(upstream)
  t.same(sent['messages'], [
    { role: 'system', content: 'a\n\nb' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'system', content: 'now' },
    { role: 'user', content: 'go' }
  ])
  t.match(sent, {
    reasoning_effort: 'high',
    stop: undefined,
    max_completion_tokens: 128_000,
    prompt_cache_key: String
  })
  t.equal(answer.headers.get('x-headgate-ignored'), 'stop_sequences')
  t.notMatch(JSON.stringify(sent), /cache_control|thinking/)
})

t.test('a request is translated to what the provider accepts: a server with chat templates', async t => {
  const { upstream, ask } = await translated(t, 'vllm')
  await ask({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'now' },
      { role: 'user', content: 'go' }
    ],
    thinking: { type: 'adaptive' },
    top_k: 4,
    metadata: { user_id: 'u' }
  })
  const sent = await sentTo(upstream)
  t.same(sent['messages'], [
    { role: 'user', content: 'hi\n\n<system-reminder>\nnow\n</system-reminder>\n\ngo' }
  ])
  t.equal(sent['top_k'], 4)
  for (const field of ['reasoning_effort', 'thinking', 'safety_identifier', 'prompt_cache_key']) {
    t.notOk(field in sent, field)
  }
})

t.test('results of parallel calls follow these directly, in however many messages they come', async t => {
  const { upstream, ask } = await translated(t, 'deepseek')
  const use = (id: string): object => ({ type: 'tool_use', id, name: 'look', input: {} })
  const result = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })
  t.equal(
    (
      await ask({
        messages: [
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: [use('a')] },
          { role: 'assistant', content: [use('b')] },
          { role: 'user', content: [result('a'), { type: 'text', text: 'Go on.' }] },
          { role: 'user', content: [result('b')] }
        ]
      })
    ).status,
    200
  )
  t.match((await sentTo(upstream))['messages'], [
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id: 'a' }, { id: 'b' }] },
    { role: 'tool', tool_call_id: 'a' },
    { role: 'tool', tool_call_id: 'b' },
    { role: 'user', content: 'Go on.' }
  ])
})

t.test('a prefilled answer is refused for a provider that would not continue it', async t => {
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'Well,' }
  ]
  const { ask } = await translated(t, 'openai')
  const answer = await ask({ messages })
  t.equal(answer.status, 400)
  t.match(await answer.json(), { error: { message: /does not support assistant prefill/ } })
  const { upstream, ask: local } = await translated(t, 'vllm')
  t.equal((await local({ messages })).status, 200)
  t.match((await sentTo(upstream))['messages'], [{}, { role: 'assistant', content: 'Well,' }])
})

t.test('a provider that lacks a feature is skipped for one that has it', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('ok')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt('http://127.0.0.1:9', 'openai', 'openai'),
      upstreamAt(upstream.url, 'vllm', 'vllm')
    ],
    routes: [{ name: 'any', models: ['openai/gpt-5', 'vllm/some-model'] }]
  })
  const answer = await api.post(path, {
    ...question,
    model: 'any',
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'Well,' }
    ]
  })
  t.equal(answer.headers.get('x-headgate-model'), 'vllm/some-model')
})

t.test('an answer that filled the context window says so, if its provider does', async t => {
  const { ask } = await translated(t, 'mistral', {
    pieces: [chatAnswer('ok').replace('"finish_reason":"stop"', '"finish_reason":"model_length"')]
  })
  t.match(await (await ask({})).json(), { stop_reason: 'model_context_window_exceeded' })
})

t.test('an unknown model is reported in the words that clients look for', async t => {
  const api = await testGateway(t)
  const headers = { 'anthropic-version': '2023-06-01' }
  const answer = await api.get('/v1/models/nowhere%2Fnone', { headers })
  t.equal(answer.status, 404)
  t.match(await answer.json(), {
    type: 'error',
    error: { type: 'not_found_error', message: 'model: nowhere/none' }
  })
})

t.test('a token count is marked as an estimate, and calls no provider', async t => {
  const api = await testGateway(t, {
    providers: [upstreamAt('http://127.0.0.1:9', 'azure', 'azure-openai')]
  })
  const { max_tokens: _, ...prompt } = question
  const answer = await api.post(`${path}/count_tokens?beta=true`, { ...prompt, model: 'azure/gpt-5' })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('x-headgate-token-count'), 'estimate')
  t.strictSame(Object.keys((await answer.json()) as object), ['input_tokens'])
  t.equal((await api.post(`${path}/count_tokens`, { ...prompt, model: 'none/m' })).status, 404)
})

t.test('OpenAI counts the tokens of its own models, for the prompt as it would be sent there', async t => {
  const upstream = await fakeUpstream({
    headers: { 'content-type': 'application/json' },
    pieces: ['{"object":"response.input_tokens","input_tokens":21}']
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(upstream.url, 'openai', 'openai')] })
  const tools = [{ name: 'read', input_schema: { type: 'object' } }]
  const answer = await api.post(`${path}/count_tokens`, {
    model: 'openai/gpt-5',
    system: 'Be brief.',
    messages: question.messages,
    tools,
    stop_sequences: ['!']
  })
  t.same(await answer.json(), { input_tokens: 21 })
  t.equal(answer.headers.get('x-headgate-token-count'), 'provider')
  const sent = await upstream.request(0)
  t.equal(sent.path, '/responses/input_tokens')
  t.match(sent.json, {
    model: 'gpt-5',
    input: [
      { role: /system|developer/, content: /Be brief/ },
      { role: 'user', content: 'hi' }
    ],
    tools: [{ type: 'function', name: 'read', parameters: { type: 'object' } }]
  })
  t.notOk(Object.hasOwn(sent.json as object, 'store'), 'what is not counted is refused there')
})

t.test('a request for zero tokens is answered at once', async t => {
  const api = await testGateway(t, { providers: [upstreamAt('http://127.0.0.1:9', 'openai', 'openai')] })
  const answer = await api.post(path, { ...question, model: 'openai/gpt-5', max_tokens: 0 })
  t.match(await answer.json(), { content: [], stop_reason: 'max_tokens', usage: { output_tokens: 0 } })
})

/** Anthropic frames with fields, events and blocks that are unknown here. */
const vendorFrames = [
  [
    'message_start',
    '{"type":"message_start", "message":{"id":"msg_vendor","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1,"new":1.0}}}'
  ],
  ['ping', '{"type": "ping"}'],
  [
    'content_block_start',
    '{"type":"content_block_start","index":0,"content_block":{"type":"from_the_future","x":{"y":[1.50]}}}'
  ],
  ['content_block_stop', '{"type":"content_block_stop","index":0}'],
  [
    'content_block_start',
    '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}'
  ],
  [
    'content_block_delta',
    '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"h\\u00e9llo"}}'
  ],
  [
    'content_block_delta',
    '{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"z":1}}}'
  ],
  ['content_block_stop', '{"type":"content_block_stop","index":1}'],
  ['tomorrow', '{"type":"tomorrow","a":"ä"}'],
  [
    'message_delta',
    '{"type":"message_delta","delta":{"stop_reason":"pause_turn","stop_sequence":null},"usage":{"output_tokens":7,"server_tool_use":{"web_search_requests":1}}}'
  ],
  ['message_stop', '{"type":"message_stop"}']
] as const
const vendorStream = vendorFrames.map(([name, data]) => `event: ${name}\ndata: ${data}\n\n`)
const vendorAnswer =
  '{"model":"claude-x","id":"msg_vendor","type":"message","role":"assistant","content":[{"type":"from_the_future","x":1.0},{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":7,"service_tier":"standard"},"container":null}'
const asJson = { 'content-type': 'application/json' }
const asStream = { 'content-type': 'text/event-stream' }
const claude = 'anthropic/claude-sonnet-4-5'

async function anthropic (
  t: Test,
  script: Script | ((request: { readonly path: string }) => Script),
  parts: Partial<Settings> = {},
  keys: Parameters<typeof testGateway>[2] = {}
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  // It replaces Anthropic's own address.
  const provider = {
    ...upstreamAt(upstream.url, 'anthropic', 'anthropic'),
    retries: 0,
    quirks: { unsignedThinking: false }
  }
  return { upstream, api: await testGateway(t, { providers: [provider], ...parts }, keys) }
}

t.test('the body is sent to Anthropic unchanged except for the model', async t => {
  const { upstream, api } = await anthropic(t, { headers: asJson, pieces: [vendorAnswer] })
  const body = `{ "max_tokens" : 1e2,\n "2":{}, "1":[1.0, null], "model":"${claude}", "speed":null,
    "messages":[{"role":"user","content":[{"type":"block_of_2030","b":1.50,"cache_control":{"ttl":"1h","type":"ephemeral"}},{"type":"text","text":"model \\"model\\":\\u00e9"}]},{"content":"x","role":"system"}],
    "tools":[{"type":"web_search_20250305","name":"web_search","model":"m"}],"context_management":{"edits":[{"type":"compact_20260112"}]} }`
  const answer = await api.post(`${path}?beta=true&x=1`, body, {
    headers: {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a,b',
      'anthropic-organization-id': 'o',
      'x-app': 'cli',
      'x-stainless-lang': 'js'
    }
  })
  t.equal(answer.status, 200, await answer.clone().text())
  const { text, path: called, headers } = await upstream.request(0)
  t.equal(text, body.replace(claude, 'claude-sonnet-4-5'))
  t.equal(called, '/v1/messages?beta=true')
  t.match(headers, { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a,b' })
  for (const name of ['x-app', 'x-stainless-lang', 'anthropic-organization-id', 'authorization']) {
    t.notOk(name in headers, name)
  }
  t.equal(await answer.text(), vendorAnswer.replace('claude-x', claude))
})

t.test('an ambiguous body is not passed on as it is', async t => {
  const { upstream, api } = await anthropic(t, { headers: asJson, pieces: [vendorAnswer] })
  await api.post(
    path,
    `{"model":"claude-opus-4-1","max_tokens":9,"messages":[{"role":"user","content":"a","content":"b"}],"model":"${claude}"}`
  )
  const { json } = await upstream.request(0)
  t.same(json, { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'b' }] })
  t.notMatch((await upstream.request(0)).text, /opus|"a"/)
})

t.test("Anthropic's stream is passed on unchanged except for the model, wherever it is cut", async t => {
  const complete = vendorStream.join('')
  const bytes = Buffer.from(complete)
  for (const pieces of [
    vendorStream,
    [complete],
    Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7))
  ]) {
    const { api } = await anthropic(t, { headers: asStream, pieces })
    const answer = await api.post(path, { ...question, model: claude, stream: true })
    t.equal(await answer.text(), complete.replace('claude-x', claude))
    await api.gateway.close()
    t.match(
      api.lines.find(({ msg }) => msg === 'call'),
      { usage: { prompt: 12, completion: 7 } },
      'and its usage is recorded'
    )
  }
})

t.test('a broken Anthropic stream ends with an error in this dialect', async t => {
  const rows: ReadonlyArray<readonly [string, Script, RegExp]> = [
    [
      'cut',
      { headers: asStream, pieces: vendorStream.slice(0, 6), then: 'fin' },
      /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/
    ],
    [
      'ended',
      { headers: asStream, pieces: vendorStream.slice(0, 6) },
      /event: error\ndata: \{"type":"error","error":\{"type":"api_error"/
    ],
    [
      'failed',
      {
        headers: asStream,
        pieces: [
          ...vendorStream.slice(0, 6),
          'event: error\ndata: {"type":"error", "error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_9"}\n\n'
        ]
      },
      /event: error\ndata: \{"type":"error", "error":\{"type":"overloaded_error","message":"Overloaded"\},"request_id":"req_9"\}\n\n$/
    ],
    [
      'complete but for its last event',
      { headers: asStream, pieces: vendorStream.slice(0, -1) },
      /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/
    ]
  ]
  for (const [title, script, end] of rows) {
    const { api } = await anthropic(t, script)
    t.match(await (await api.post(path, { ...question, model: claude, stream: true })).text(), end, title)
  }
})

t.test("Anthropic's error messages are kept, since clients act on them", async t => {
  const body =
    '{"type":"error", "error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"},"request_id":"req_1"}'
  for (const [status, type] of [
    [400, 'invalid_request_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [429, 'rate_limit_error'],
    [529, 'overloaded_error'],
    [500, 'api_error']
  ] as const) {
    const text = body.replace('invalid_request_error', type)
    for (const stream of [true, false]) {
      const { api } = await anthropic(t, {
        status,
        headers: { ...asJson, 'request-id': 'req_1' },
        pieces: [text]
      })
      const answer = await api.post(path, { ...question, model: claude, stream })
      t.equal(answer.status, status)
      t.equal(await answer.text(), text)
      t.equal(answer.headers.get('x-upstream-request-id'), 'req_1')
      t.equal(answer.headers.get('request-id'), answer.headers.get('x-request-id'))
    }
  }
  const { api } = await anthropic(t, {
    status: 401,
    headers: asJson,
    pieces: ['{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}']
  })
  const refused = await api.post(path, { ...question, model: claude })
  t.equal(refused.status, 502, "but the gateway's own credential is its own business")
  t.match(await refused.json(), {
    error: { type: 'api_error', details: { error_code: 'upstream_auth_failed' } }
  })
})

t.test('thinking of another provider is not sent to Anthropic', async t => {
  const { upstream, api } = await anthropic(t, { headers: asJson, pieces: [vendorAnswer] })
  const thinking = (signature?: string): object => ({
    type: 'thinking',
    thinking: 'hm',
    ...signature !== undefined && { signature }
  })
  const said = { type: 'text', text: 'a' }
  await api.post(path, {
    ...question,
    model: claude,
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [thinking(''), thinking('hg1.e30'), said] },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [thinking()] },
      { role: 'assistant', content: [thinking('EqQB'), said] },
      { role: 'user', content: 'go' }
    ]
  })
  t.same((await sentTo(upstream))['messages'], [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [said] },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [thinking('EqQB'), said] },
    { role: 'user', content: 'go' }
  ])
})

t.test(
  "objects stored in the provider's account need a permitted key or the caller's own account",
  async t => {
    const keys = { may: { id: 'may', name: 'may', providerObjects: true } }
    const { upstream, api } = await anthropic(t, { headers: asJson, pieces: [vendorAnswer] }, {}, keys)
    const file = {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }]
            }
          ]
        }
      ]
    }
    const rows: ReadonlyArray<readonly [string, object, number]> = [
      ['file_id', file, 403],
      ['container', { container: 'c1' }, 403],
      ['thread', { thread: { type: 'create' } }, 400],
      [
        'no file',
        {
          messages: [{ role: 'user', content: 'what is a file_id?' }],
          tools: [{ name: 't', input_schema: { type: 'object', properties: { file_id: {} } } }]
        },
        200
      ]
    ]
    for (const [title, more, status] of rows) {
      const body = { ...question, model: claude, ...more }
      const sent = upstream.requests.length
      t.equal((await api.post(path, body)).status, status, title)
      t.equal(upstream.requests.length - sent, status === 200 ? 1 : 0, title)
      t.equal(
        (await api.post(path, body, { headers: { authorization: 'Bearer may' } })).status,
        200,
        `${title}, for a key that may`
      )
      t.equal(
        (await api.post(path, body, { headers: { 'x-provider-key': 'sk-mine' } })).status,
        200,
        `${title}, for a caller with an account`
      )
    }
  }
)

t.test(
  'model and server scopes of a key also apply to what only Anthropic reads',
  async t => {
    const keys = { some: { id: 'some', name: 'some', models: [claude], mcpServers: ['a/b'] } }
    const { api } = await anthropic(t, { headers: asJson, pieces: [vendorAnswer] }, {}, keys)
    const ask = async (more: object): Promise<number> =>
      (
        await api.post(
          path,
          { ...question, model: claude, ...more },
          { headers: { authorization: 'Bearer some' } }
        )
      ).status
    t.equal(await ask({}), 200)
    t.equal(await ask({ fallbacks: [{ model: 'claude-opus-4-1' }] }), 403)
    t.equal(
      await ask({ tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-1' }] }),
      403
    )
    t.equal(await ask({ fallbacks: [{ model: 'claude-sonnet-4-5' }] }), 200)
    t.equal(await ask({ mcp_servers: [{ type: 'url', url: 'https://mcp.example' }] }), 403)
  }
)

t.test('Anthropic counts its own tokens, and fills its own cache', async t => {
  const { upstream, api } = await anthropic(t, request => ({
    headers: asJson,
    pieces: [request.path.includes('count_tokens') ? '{"input_tokens":2095}' : vendorAnswer]
  }))
  const body = `{"model":"${claude}","messages":[{"role":"user","content":"hi"}],"x":1.0}`
  const answers = await Promise.all(
    Array.from({ length: 25 }, async () => await api.post(`${path}/count_tokens?beta=true`, body))
  )
  for (const answer of answers) {
    t.same(await answer.json(), { input_tokens: 2095 })
    t.equal(answer.headers.get('x-headgate-token-count'), 'provider')
  }
  const { path: called, text } = await upstream.request(0)
  t.equal(called, '/v1/messages/count_tokens?beta=true')
  t.equal(text, body.replace(claude, 'claude-sonnet-4-5'))
  t.equal((await api.post(path, { ...question, model: claude, max_tokens: 0 })).status, 200)
  t.match(await sentTo(upstream), { max_tokens: 0 })
})

t.test('a fallback crosses dialects in both directions', async t => {
  const other = await fakeUpstream({ pieces: [chatAnswer('from the other')] })
  t.teardown(other.close)
  const upstream = await fakeUpstream({
    status: 529,
    headers: asJson,
    pieces: ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}']
  })
  t.teardown(upstream.close)
  const providers = [
    { ...upstreamAt(upstream.url, 'anthropic', 'anthropic'), retries: 0 },
    { ...upstreamAt(other.url, 'openai', 'openai'), retries: 0 }
  ]
  const api = await testGateway(t, {
    providers,
    routes: [{ name: 'both', models: [claude, 'openai/gpt-5'] }]
  })
  const answer = await api.post(path, { ...question, model: 'both' })
  t.match(await answer.json(), {
    type: 'message',
    model: 'openai/gpt-5',
    content: [{ type: 'text', text: 'from the other' }]
  })

  const down = await fakeUpstream({ status: 500, pieces: ['{}'] })
  t.teardown(down.close)
  const up = await fakeUpstream({ headers: asStream, pieces: vendorStream })
  t.teardown(up.close)
  const back = await testGateway(t, {
    providers: [
      { ...upstreamAt(down.url, 'openai', 'openai'), retries: 0 },
      upstreamAt(up.url, 'anthropic', 'anthropic')
    ],
    routes: [{ name: 'both', models: ['openai/gpt-5', claude] }]
  })
  t.equal(
    await (await back.post(path, { ...question, model: 'both', stream: true })).text(),
    vendorStream.join('').replace('claude-x', claude)
  )
})

t.test("with the caller's own key, the limits are those of the caller's account", async t => {
  const { api } = await anthropic(t, {
    headers: {
      ...asJson,
      'anthropic-ratelimit-unified-status': 'allowed',
      'anthropic-ratelimit-requests-limit': '50'
    },
    pieces: [vendorAnswer]
  })
  const own = await api.post(
    path,
    { ...question, model: claude },
    { headers: { 'x-provider-key': 'sk-mine' } }
  )
  t.equal(own.headers.get('anthropic-ratelimit-unified-status'), 'allowed')
  t.equal(own.headers.get('anthropic-ratelimit-requests-limit'), '50')
  t.equal(
    (await api.post(path, { ...question, model: claude })).headers.get('anthropic-ratelimit-unified-status'),
    null
  )
})
