import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { withCallerParamNames } from '../../lib/providers/caller-param-names.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { errorOf, readResponse, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Ask } from '../../lib/providers/provider.ts'
import type { Quirks } from '../../lib/core/quirks.ts'
import type { UserMessage } from '../../schemas/messages.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/chat-completions')

function ask (request: Partial<ChatInput> = {}, quirks: Quirks = {}, streamed = false): Ask<ChatInput> {
  return {
    request: { model: 'x/m', messages: [{ role: 'user', content: 'hi' }], ...request },
    route: { providerId: 'x', model: 'm', modelId: 'x/m' },
    quirks,
    streamed
  }
}

function body (request: Partial<ChatInput>, quirks?: Quirks, streamed?: boolean): Record<string, unknown> {
  return JSON.parse(String(chatCompletions.request(ask(request, quirks, streamed)).body)) as Record<string, unknown>
}

function refusal (work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

/** The code that a caller reads. */
function shownCode (error: GatewayError): unknown {
  return Reflect.get(Object(Reflect.get(Object(error.toBody()), 'error')), 'code')
}

/** Ids that the reader makes differ from run to run. */
function plain (events: readonly ChatEvent[]): unknown {
  return JSON.parse(JSON.stringify(events).replace(/call_[0-9a-f]{24}/g, 'call_made'))
}

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.sse'))
  t.ok(names.length > 20)
  for (const name of names) {
    const bytes = readFileSync(join(fixtures, name))
    const expected: unknown = JSON.parse(readFileSync(join(fixtures, name.replace('.sse', '.events.json')), 'utf8'))
    const question = ask({ n: 2, ...name.startsWith('function-call') && { functions: [{ name: 'weather' }] } })
    for (const size of cutSizes) {
      t.same(plain(readEvents(cut(bytes, size), streamOf(chatCompletions, question))), expected, `${name} ${size}`)
    }
  }
})

t.test('a stream that stops before its finish reason is an error, with or without [DONE]', async t => {
  const chunk = { id: '1', choices: [{ index: 0, delta: { content: 'half' }, finish_reason: null }] }
  for (const end of ['', 'data: [DONE]\n\n', 'data: {"id":"1","choi']) {
    const bytes = Buffer.from(`data: ${JSON.stringify(chunk)}\n\n${end}`)
    t.throws(() => readEvents([bytes], streamOf(chatCompletions, ask())), GatewayError, JSON.stringify(end))
  }
  const done = Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE] \n\n`)
  t.match(readEvents([done], streamOf(chatCompletions, ask({}, { lenientFinish: true }))).at(-1), { type: 'choice-end' })
})

t.test('an error inside a stream is thrown as what it means', async t => {
  const cases: Array<[string, string, number]> = [
    ['data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n', 'upstream_error', 502],
    ['data: {"error":{"message":"slow","code":429}}\n\n', 'rate_limit_exceeded', 429],
    ['event: error\ndata: {"error":{"message":"Error rendering prompt with jinja template"}}\n\n', 'upstream_error', 502],
    ['event: error\ndata: it broke\n\n', 'upstream_error', 502],
    ['error: {"code":500,"message":"context"}\n\n', 'upstream_error', 502],
    ['data: {"object":"error","message":"too long: maximum context length is 8","code":400}\n\n', 'context_length_exceeded', 400],
    ['data: [{"error":{"code":503,"message":"busy"}}]\n\n', 'upstream_overloaded', 503],
    ['data: {"id":"g","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n', 'upstream_error', 502],
    ['data: {"id":"g","choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}\n\n', 'upstream_stream_interrupted', 502],
    ['data: {"id":"g","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"insufficient_system_resource"}]}\n\n', 'upstream_stream_interrupted', 502],
    ['data: {"id":"g","choices":[{"index":0,"delta":{},"finish_reason":null}],"x_groq":{"error":"over capacity"}}\n\n', 'upstream_stream_interrupted', 502],
    ['data: {"error":{"message":"no call came out","type":"invalid_request_error","code":"tool_use_failed"}}\n\n', 'upstream_invalid_request', 400],
    ['data: <html>\n\n', 'upstream_invalid_response', 502]
  ]
  for (const [text, code, status] of cases) {
    t.throws(() => readEvents([Buffer.from(text)], streamOf(chatCompletions, ask())), { code, status }, text)
  }
})

t.test('a refusal by status is mapped, and its words reach only the caller at fault', async t => {
  const row = (
    status: number, text: unknown, expected: Record<string, unknown>, headers = {}, callerKey = false
  ): void => {
    const error = errorOf(chatCompletions, { status, headers, body: text }, ask(), callerKey ? 'own-key' : undefined)
    t.match({ status: error.status, code: error.code, message: error.message, failure: error.fault, param: error.param, after: error.retryAfterSeconds, type: error.type, shown: shownCode(error) }, expected, JSON.stringify(text))
  }
  const said = (message: string, code: string | null = null, type: string | null = null, param: string | null = null): unknown =>
    ({ error: { message, type, code, param } })
  row(400, said('Unknown value', 'unsupported_value', 'invalid_request_error', 'temperature'), { status: 400, message: 'Unknown value', param: 'temperature', failure: 'caller' })
  row(401, said('Incorrect API key provided: sk-abc***wxyz'), { status: 502, code: 'upstream_auth_failed', message: /^(?!.*sk-)/, failure: 'credential' })
  row(401, said('Incorrect API key provided'), { status: 401, code: 'invalid_provider_key' }, {}, true)
  row(400, { code: 'x', error: 'Incorrect API key provided: xa***99' }, { status: 502, code: 'upstream_auth_failed' })
  row(403, { code: 'permission-denied', error: 'Content violates usage guidelines. Team: 01234567-89ab-cdef-0123-456789abcdef, API key ID: 01234567-89ab-cdef-0123-456789abcdef' }, { status: 403, failure: 'caller', message: /^(?!.*01234567)/ })
  row(402, said('no balance'), { status: 503, code: 'upstream_quota_exhausted', failure: 'credential' })
  row(429, said('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota'), { status: 503, code: 'upstream_quota_exhausted' })
  row(429, said('Rate limit reached in organization org-abcdefgh. Please try again in 600ms'), { status: 429, after: 1, message: /^(?!.*org-)/, failure: 'rate_limit' })
  row(429, said('slow'), { after: 60 }, { 'retry-after': '3600' })
  row(429, said('slow'), { after: 2 }, { 'retry-after': '9', 'retry-after-ms': '1500' })
  row(404, said('The model `x` does not exist', 'model_not_found'), { status: 404, code: 'model_not_found', param: 'model' })
  row(400, said('This model\'s maximum context length is 8192 tokens', 'context_length_exceeded', null, 'messages'), { code: 'context_length_exceeded', failure: 'context_length', param: 'messages' })
  row(400, said('flagged', 'content_policy_violation'), { code: 'content_policy_violation', failure: 'caller' })
  row(410, { error: 'Live search is deprecated' }, { status: 400, code: 'unsupported_parameter' })
  row(422, { detail: 'bad' }, { status: 400, failure: 'caller' })
  row(500, said('boom sk-secret123'), { status: 502, code: 'upstream_error', message: 'The provider failed to answer.', failure: 'transient' })
  row(503, '', { status: 503, code: 'upstream_overloaded' })
  row(504, '', { status: 504, code: 'upstream_timeout' })
  row(301, '', { status: 502, code: 'upstream_error' })
  row(402, said('no balance'), { status: 402, code: 'insufficient_quota', type: 'invalid_request_error' }, {}, true)
  row(404, said('no such deployment', 'DeploymentNotFound'), { status: 404, code: 'model_not_found' })
  row(400, said('filtered', 'content_filter', null, 'prompt'), { status: 400, code: 'content_policy_violation', shown: 'content_filter', param: 'prompt' })
  row(400, said('no call came out', 'tool_use_failed'), { status: 400, code: 'upstream_invalid_request', shown: 'tool_use_failed' })
  row(400, { object: 'error', message: 'bad', type: 'BadRequestError', param: null, code: 400 }, { status: 400, message: 'bad', shown: 'upstream_invalid_request' })
  row(400, { error: { code: 400, message: 'exceeds the available context size', type: 'exceed_context_size_error' } }, { code: 'context_length_exceeded', failure: 'context_length' })
  row(498, said('at capacity'), { status: 503, code: 'upstream_overloaded', failure: 'transient' })
  row(503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, { status: 503, code: 'upstream_overloaded' })
})

t.test('a complete answer gives the events of the stream that says the same', async t => {
  const complete = {
    id: 'chatcmpl-A1',
    service_tier: 'default',
    system_fingerprint: 'fp_1',
    choices: [{
      index: 0,
      message: {
        role: 'assistant', content: 'Hello', refusal: null, reasoning_content: 'hm', mood: 'calm',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
      },
      finish_reason: 'stop'
    }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  }
  t.same(readResponse(chatCompletions, complete, ask()), [
    { type: 'response-start', fingerprint: 'fp_1', serviceTier: 'default' },
    { type: 'reasoning-delta', choice: 0, text: 'hm' },
    { type: 'text-delta', choice: 0, text: 'Hello' },
    { type: 'tool-call-start', choice: 0, call: 0, id: 'a', name: 'f', kind: 'function' },
    { type: 'tool-call-delta', choice: 0, call: 0, text: '{}', kind: 'function' },
    { type: 'extra', scope: 'message', choice: 0, fields: { mood: 'calm' } },
    { type: 'tool-call-end', choice: 0, call: 0 },
    { type: 'choice-end', choice: 0, reason: 'tool_calls' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
  ])
  for (const bad of [{}, { choices: [] }, { choices: 'no' }, [], 'text', null, { error: 'no' }, { code: 'The service is currently unavailable', error: 'x' }]) {
    t.throws(() => readResponse(chatCompletions, bad, ask()), GatewayError, JSON.stringify(bad))
  }
})

t.test('the upstream body is built from an allow-list', async t => {
  const messages = [{ role: 'user' as const, content: 'hi' }]
  t.same(body({}), { model: 'm', messages }, 'nothing is invented')
  const others = {
    mcp_servers: ['a/b'], thinking: { type: 'disabled' as const }, top_k: 3, generation_config: {}, safety_settings: [],
    tool_config: {}, search_parameters: {}, deferred: true, guardrails: [], max_turns: 3, agent_attributes: {},
    automatic_tool_execution: false, credentials: [], cached_content: 'x', safe_prompt: true
  }
  t.same(body(others), { model: 'm', messages }, 'fields of others stay here')
  t.same(body({ ...others, unheard: 1 } as Partial<ChatInput>), { model: 'm', messages }, 'and so do unknown ones')
  t.match(body({ safe_prompt: true }, { extraFields: ['safe_prompt'] }), { safe_prompt: true })
  t.match(body({ max_tokens: 5 }), { max_tokens: 5 })
  t.match(body({ max_tokens: 5 }, { tokenLimitField: 'max_completion_tokens' }), { max_completion_tokens: 5, max_tokens: undefined })
  t.match(body({ max_tokens: 5, max_completion_tokens: 7 }, { tokenLimitField: 'max_tokens' }), { max_tokens: 7 })
  t.match(body({ stop: [], tools: [], tool_choice: 'auto', parallel_tool_calls: false, functions: [], function_call: 'auto' }), {
    stop: undefined, tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined, functions: undefined, function_call: undefined
  }, 'what means nothing is left out')
  t.match(body({ tools: [{ function: { name: 'f' } }], tool_choice: 'required' }), {
    tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required'
  })
  t.match(refusal(() => body({ tools: [{ type: 'custom', custom: { name: 'x' } }] }, { customTools: false })), { status: 400, param: 'tools[0].type' })
  t.match(body({ reasoning_effort: 'low' }, { reasoningEffort: 'object' }), { reasoning: { effort: 'low' } })
  t.match(body({ user: 'u', seed: 1 }, { omit: ['seed'] }), { user: 'u', seed: undefined })
  t.same(body({}, {}, true)['stream_options'], { include_usage: true }, 'usage is always requested')
  t.same(body({}, { obfuscation: true }, true)['stream_options'], { include_usage: true, include_obfuscation: false })
  t.equal(body({}, { streamUsage: false }, true)['stream_options'], undefined)
})

t.test('history is sent without what other providers put into it', async t => {
  const history = [
    { role: 'assistant' as const, content: null, refusal: null, reasoning_content: 'hm', thinking_blocks: [{}], tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool' as const, content: 'ok', tool_call_id: 'a' }
  ]
  t.same(body({ messages: history })['messages'], [
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', content: 'ok', tool_call_id: 'a' }
  ])
  t.match(body({ messages: history }, { keepInHistory: ['reasoning_content'] })['messages'], [{ reasoning_content: 'hm' }])
  const image = (url: string): UserMessage => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })
  for (const url of ['file:///etc/passwd', 'ftp://x/y', '/etc/passwd', 'data:text/html;base64,AA']) {
    t.match(refusal(() => body({ messages: [image(url)] })), { status: 400, param: 'messages[0].content[0].image_url.url' }, url)
  }
  t.ok(body({ messages: [image('https://example.com/a.png'), image('data:image/png;base64,AA')] }))
})

/** Reads a stream of these messages to its end. */
function streamed (frames: string, request: Partial<ChatInput> = {}): ChatEvent[] {
  return readEvents([Buffer.from(frames)], streamOf(chatCompletions, ask(request)))
}

const text = 'data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'

t.test('messages that hold nothing are passed over, and a quoted end is an end', async t => {
  const expected = streamed(text)
  for (const nothing of ['null', '42', '[]', '""', '', '"ping"', 'true']) {
    t.same(streamed(`data: ${nothing}\n\n${text}data: ${nothing}\n\n`), expected, nothing)
  }
  t.same(streamed(`${text}data: "[DONE]"\n\ndata: {"error":"late"}\n\n`), expected)
})

t.test('a chunk under a name of its own is a chunk; other names are passed over', async t => {
  t.same(streamed(`event: completion.chunk\n${text}`), streamed(text))
  t.same(streamed(`event: ping\ndata: {"type":"ping"}\n\nevent: note\ndata: words\n\n${text}`), streamed(text))
  t.throws(() => streamed('event: chunk\ndata: {"error":{"message":"no","code":503}}\n\n'), { code: 'upstream_overloaded' })
})

t.test('choices are numbered as requested, whatever the server calls them', async t => {
  const choice = (index: unknown): string => JSON.stringify({ id: '1', choices: [{ index, delta: { content: String(index) }, finish_reason: 'stop' }] })
  const choicesOf = (indexes: readonly unknown[], n?: number): unknown => streamed(indexes.map(index => `data: ${choice(index)}\n\n`).join(''), n === undefined ? {} : { n })
    .filter(event => event.type === 'text-delta').map(event => [event.choice, event.text])
  t.same(choicesOf([5]), [[0, '5']])
  t.same(choicesOf([1, 0], 2), [[1, '1'], [0, '0']])
  t.same(choicesOf([-1, 7, 8], 2), [[0, '-1'], [1, '7']])
  t.same(choicesOf([0, 1, 2, 3], 1), [[0, '0']])
})

t.test('a tier that the contract does not name is left out', async t => {
  const head = (tier: string): unknown => readResponse(chatCompletions, { service_tier: tier, choices: [{ message: { content: 'a' } }] }, ask())[0]
  t.same(head('on_demand'), { type: 'response-start' })
  t.same(head('priority'), { type: 'response-start', serviceTier: 'priority' })
})

t.test('a deprecated call goes to callers with tools as a tool call', async t => {
  const answer = { choices: [{ message: { content: null, function_call: { name: 'f', arguments: '{}' } }, finish_reason: 'function_call' }] }
  const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'f' } }]
  t.match(readResponse(chatCompletions, answer, ask({ tools })).slice(1), [
    { type: 'tool-call-start', id: /^call_/, name: 'f', kind: 'function' }, { type: 'tool-call-delta', text: '{}' },
    { type: 'tool-call-end' }, { type: 'choice-end', reason: 'tool_calls' }
  ])
  t.match(readResponse(chatCompletions, answer, ask({ functions: [{ name: 'f' }] })).at(-1), { reason: 'function_call' })
})

t.test('usage that contradicts itself is at least its sum, and numbers may come as text', async t => {
  const usage = (given: object): unknown => readResponse(chatCompletions, { choices: [{ message: { content: 'a' } }], usage: given }, ask()).at(-1)
  t.match(usage({ prompt_tokens: -3, completion_tokens: 2, total_tokens: -1 }), { usage: { promptTokens: 0, completionTokens: 2, totalTokens: 2 } })
  t.match(usage({ prompt_tokens: '3', completion_tokens: '2', total_tokens: '5' }), { usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } })
})

t.test('what limits a caller at their own key is said in the provider\'s words, what limits the gateway is not', async t => {
  for (const adapter of [chatCompletions, googleChat, anthropicChat]) {
    const failure = { status: 429, headers: {}, body: { error: { message: '5 requests a minute' } } }
    t.equal(errorOf(adapter, failure, ask(), 'own-key').message, '5 requests a minute')
    t.notMatch(errorOf(adapter, failure, ask()).message, /minute/)
  }
})

t.test('a refused field has the name that the caller wrote', async t => {
  const adapter = withCallerParamNames(chatCompletions)
  const param = (request: Partial<ChatInput>, named: string, quirks: Quirks = {}): unknown =>
    errorOf(adapter, { status: 400, headers: {}, body: { error: { message: 'too large', param: named } } }, ask(request, quirks)).param
  t.equal(param({ max_tokens: 5 }, 'max_completion_tokens'), 'max_tokens')
  t.equal(param({ max_completion_tokens: 5 }, 'max_tokens'), 'max_completion_tokens')
  t.equal(param({ seed: 5 }, 'random_seed', { rename: { seed: 'random_seed' } }), 'seed')
  t.equal(param({ max_tokens: 5 }, 'temperature'), 'temperature')
})
