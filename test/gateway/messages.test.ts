/** POST /v1/messages over HTTP: heads, statuses and bodies that its clients act on. */

import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { Test } from 'tap'

const path = '/v1/messages'
const question = { model: 'sandbox/echo', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }

async function sandbox (t: Test, parts: Partial<Settings> = {}): Promise<TestGateway> {
  return await testGateway(t, { providers: [{ ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } }], ...parts })
}

/** Starts a provider of some kind that answers a chat, and returns how to ask it. */
async function translated (t: Test, kind: ProviderKind, script: Script = { pieces: [chatAnswer('ok')] }): Promise<{ upstream: FakeUpstream, ask: (more: object) => Promise<Response> }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(upstream.url, kind, kind)] })
  const model = kind === 'openai' ? 'openai/gpt-5' : `${kind}/some-model`
  return { upstream, ask: async more => await api.post(path, { ...question, model, ...more }) }
}

async function sentTo (upstream: FakeUpstream): Promise<Record<string, unknown>> {
  return (await upstream.request(upstream.requests.length - 1)).json as Record<string, unknown> // JSON of ours
}

t.test('every answer has its id as `request-id`, and the limits of its key in Anthropic\'s headers', async t => {
  const api = await testGateway(t, { providers: [{ ...upstreamAt('sandbox:', 'sandbox', 'sandbox') }] }, {
    limited: { id: 'k', name: 'k', limits: { requestsPerMinute: 1 } }
  })
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
})

t.test('whatever is wrong, the body is an error of this dialect', async t => {
  const api = await sandbox(t)
  const rows: ReadonlyArray<readonly [title: string, answer: Response, status: number, body: object, headers?: Record<string, string>]> = [
    ['no key', await fetch(api.url + path, { method: 'POST' }), 401, { error: { type: 'authentication_error' } }, { 'x-should-retry': 'false' }],
    ['no JSON', await api.post(path, '{'), 400, { error: { type: 'invalid_request_error' } }],
    ['a wrong shape', await api.post(path, { ...question, messages: [{ role: 'tool', content: 'x' }] }), 400, { error: { type: 'invalid_request_error', message: /^messages\.0\.role: / } }],
    ['no limit', await api.post(path, { ...question, max_tokens: undefined }), 400, { error: { message: 'max_tokens: Field required' } }],
    ['an unknown model', await api.post(path, { ...question, model: 'sandbox/none' }), 404, { error: { type: 'not_found_error', message: 'model: sandbox/none' } }],
    ['a thread', await api.post(path, { ...question, thread: { type: 'create' } }), 400, { error: { type: 'invalid_request_error', details: { error_code: 'thread_unsupported_request' } } }],
    ['a server tool', await api.post(path, { ...question, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }), 400, { error: { message: /^tools\.0: Input tag 'web_search_20250305'/ } }],
    ['too long a prompt', await api.post(path, { ...question, messages: [{ role: 'user', content: '[sandbox: status=400 code=context_length_exceeded]' }] }), 400, { error: { message: /^prompt is too long/ } }],
    ['another path', await api.post('/v1/messages/batches', {}), 404, { error: { type: 'not_found_error' } }],
    ['another method', await api.get(path), 405, { error: { type: 'invalid_request_error' } }],
    ['another service', await api.get('/v1/files', { headers: { 'anthropic-version': '2023-06-01' } }), 404, { error: { type: 'not_found_error' } }]
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

t.test('either of the two headers for keys may be the good one', async t => {
  const api = await sandbox(t)
  for (const headers of [{ authorization: 'Bearer wrong', 'x-api-key': testKey }, { authorization: `Bearer ${testKey}`, 'x-api-key': 'wrong' }]) {
    t.equal((await api.post(path, question, { headers })).status, 200)
  }
})

t.test('the sandbox reads past what agents put around a prompt', async t => {
  const api = await sandbox(t)
  const tools = [{ name: 'write', input_schema: { type: 'object', properties: {} } }]
  const answer = await api.post(path, {
    ...question,
    tools,
    messages: [
      { role: 'user', content: [{ type: 'text', text: '<system-reminder>\nuse write and [sandbox: status=500]\n</system-reminder>' }, { type: 'text', text: 'say hello' }] },
      { role: 'system', content: 'use write' }
    ]
  })
  t.match(await answer.json(), { content: [{ type: 'text', text: /hello/ }], stop_reason: 'end_turn' })
})

t.test('a provider gets what it can take: OpenAI', async t => {
  const { upstream, ask } = await translated(t, 'openai')
  const answer = await ask({
    system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }, { type: 'text', text: 'b' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }, { role: 'system', content: 'now' }, { role: 'user', content: 'go' }],
    tools: [{ name: 'read', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'max' },
    stop_sequences: ['1', '2', '3', '4', '5'],
    max_tokens: 10_000_000
  })
  t.equal(answer.status, 200, await answer.clone().text())
  const sent = await sentTo(upstream)
  t.same(sent['messages'], [{ role: 'system', content: 'a\n\nb' }, { role: 'user', content: [{ type: 'text', text: 'hi' }] }, { role: 'system', content: 'now' }, { role: 'user', content: 'go' }])
  t.match(sent, { reasoning_effort: 'high', stop: ['1', '2', '3', '4'], max_completion_tokens: 128_000, prompt_cache_key: String })
  t.notMatch(JSON.stringify(sent), /cache_control|thinking/)
})

t.test('a provider gets what it can take: a server with templates', async t => {
  const { upstream, ask } = await translated(t, 'vllm')
  await ask({
    messages: [{ role: 'user', content: 'hi' }, { role: 'system', content: 'now' }, { role: 'user', content: 'go' }], thinking: { type: 'adaptive' }, top_k: 4, metadata: { user_id: 'u' }
  })
  const sent = await sentTo(upstream)
  t.same(sent['messages'], [{ role: 'user', content: 'hi' }, { role: 'user', content: '<system-reminder>\nnow\n</system-reminder>' }, { role: 'user', content: 'go' }])
  t.equal(sent['top_k'], 4)
  for (const field of ['reasoning_effort', 'thinking', 'safety_identifier', 'prompt_cache_key']) t.notOk(field in sent, field)
})

t.test('an answer that was begun is not sent to a provider that would not go on with it', async t => {
  const messages = [{ role: 'user', content: 'hi' }, { role: 'assistant', content: 'Well,' }]
  const { ask } = await translated(t, 'openai')
  const answer = await ask({ messages })
  t.equal(answer.status, 400)
  t.match(await answer.json(), { error: { message: /does not continue an answer/ } })
  const { upstream, ask: local } = await translated(t, 'vllm')
  t.equal((await local({ messages })).status, 200)
  t.match((await sentTo(upstream))['messages'], [{}, { role: 'assistant', content: 'Well,' }])
})

t.test('a provider that cannot is passed over for one that can', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('ok')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt('http://127.0.0.1:9', 'openai', 'openai'), upstreamAt(upstream.url, 'vllm', 'vllm')],
    routes: [{ name: 'any', models: ['openai/gpt-5', 'vllm/some-model'] }]
  })
  const answer = await api.post(path, { ...question, model: 'any', messages: [{ role: 'user', content: 'hi' }, { role: 'assistant', content: 'Well,' }] })
  t.equal(answer.headers.get('x-headgate-model'), 'vllm/some-model')
})

t.test('a count is marked as an estimate, and asks no provider', async t => {
  const api = await testGateway(t, { providers: [upstreamAt('http://127.0.0.1:9', 'openai', 'openai')] })
  const { max_tokens: _, ...prompt } = question
  const answer = await api.post(`${path}/count_tokens?beta=true`, { ...prompt, model: 'openai/gpt-5' })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('x-headgate-token-count'), 'estimate')
  t.strictSame(Object.keys(await answer.json() as object), ['input_tokens'])
  t.equal((await api.post(`${path}/count_tokens`, { ...prompt, model: 'none/m' })).status, 404)
})

t.test('a request for no tokens is served at once', async t => {
  const api = await testGateway(t, { providers: [upstreamAt('http://127.0.0.1:9', 'openai', 'openai')] })
  const answer = await api.post(path, { ...question, model: 'openai/gpt-5', max_tokens: 0 })
  t.match(await answer.json(), { content: [], stop_reason: 'max_tokens', usage: { output_tokens: 0 } })
})
