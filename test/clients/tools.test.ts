/**
 * Tools executed on the server, called through the official clients: two MCP servers, a third that is
 * unreachable, and a function of the caller; complete and streamed; with the sandbox and with a third-party
 * mock of the providers.
 */

import { LLMock } from '@copilotkit/aimock'
import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import t from 'tap'
import { startToolServer, type TestToolServer } from '../support/tool-server.ts'
import { closedUrl } from '../support/closed-port.ts'
import { chatFrames, eventStream, fakeUpstream } from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const models: Readonly<Record<string, { model: string, settings: (url: string) => ProviderSettings }>> = {
  sandbox: {
    model: 'sandbox/echo',
    settings: () => ({ ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } })
  },
  openai: { model: 'openai/gpt-5', settings: url => upstreamAt(`${url}/v1`) },
  anthropic: {
    model: 'anthropic/claude-sonnet-4-5',
    settings: url => upstreamAt(url, 'anthropic', 'anthropic')
  },
  google: { model: 'google/gemini-2.5-pro', settings: url => upstreamAt(url, 'google', 'google') }
}

interface SentRequest {
  readonly messages: ReadonlyArray<{ readonly role: string }>
}

const results = ({ messages }: SentRequest): number => messages.filter(({ role }) => role === 'tool').length

interface Started {
  readonly api: TestGateway
  readonly model: string
  readonly first: TestToolServer
  readonly second: TestToolServer
  readonly servers: Array<string | { url: string, allowed_tools: string[] }>
  /** No server listens on this port. */
  readonly dead: string
}

async function start (t: Test, name: string): Promise<Started> {
  const mock = new LLMock({ port: 0 })
  const reply = (calls: number, own: boolean): { predicate: (turn: SentRequest) => boolean } => ({
    predicate: turn =>
      results(turn) === calls && JSON.stringify(turn).includes('own_function please') === own
  })
  const both = [
    { name: 'echo', arguments: '{"message":"one"}' },
    { name: 'second_only', arguments: '{}' }
  ]
  mock.on(reply(0, false), { toolCalls: both })
  mock.on(reply(2, false), { toolCalls: [{ name: 'echo', arguments: '{"message":"two"}' }] })
  mock.on(reply(3, false), { content: 'Both servers have responded.' })
  mock.on(reply(0, true), { toolCalls: [...both, { name: 'own_function', arguments: '{"x":1}' }] })
  await mock.start()
  t.teardown(async () => await mock.stop())
  const chosen = models[name]
  if (chosen === undefined) throw new Error(name)
  const [first, second] = [await startToolServer(t), await startToolServer(t, { more: ['second_only'] })]
  const { tools } = settings()
  const api = await testGateway(t, {
    providers: [chosen.settings(mock.url)],
    tools: {
      ...tools,
      connectMs: 5000,
      callMs: 10_000,
      loopMs: 20_000,
      resultBytes: 100_000,
      sessionIdleMs: 20_000,
      listTtlMs: 20_000,
      allowedHosts: ['127.0.0.0/8']
    }
  })
  const dead = `${closedUrl}/mcp`
  return {
    api,
    first,
    second,
    dead,
    servers: [first.url, { url: second.url, allowed_tools: ['second_only'] }, dead],
    model: chosen.model
  }
}

/** The sandbox needs directives for what to call in each turn; the mock decides by itself. */
const question = 'use echo with {"message":"one"} and second_only with {} [sandbox: rounds=2]'
const ownQuestion =
  'use echo with {"message":"one"} and second_only with {} and own_function please with {"x":1}'
const ownFunction = {
  type: 'function' as const,
  function: { name: 'own_function', parameters: { type: 'object', properties: { x: { type: 'number' } } } }
}

interface Report {
  readonly tools_executed?: string[]
  readonly mcp_tool_results?: Array<{
    tool_name: string
    server_name: string
    is_error: boolean
    duration_ms: number
  }>
  readonly mcp_server_errors?: Record<string, { message: string, code: string, recommendation?: string }>
}

/** Checks fields that the types of the clients do not know. */
function checkReport (t: Test, said: unknown, dead: string, turns: number): void {
  const {
    tools_executed: executed,
    mcp_tool_results: ran = [],
    mcp_server_errors: errors = {}
  } = said as Report
  t.ok(
    executed?.some(name => name === 'echo') && executed.includes('second_only'),
    `${String(executed)} were executed`
  )
  t.ok(ran.length >= turns + 1, `${ran.length} calls`)
  t.ok(ran.every(({ is_error: failed, duration_ms: ms }) => !failed && ms >= 0))
  t.same(new Set(ran.map(({ server_name: name }) => name)).size, 2, 'on both servers')
  t.match(
    errors,
    { [dead]: { code: 'connect', message: String, recommendation: String } },
    'the unreachable server is reported, and the others work'
  )
}

for (const name of Object.keys(models)) {
  t.test(`a run with tools of two MCP servers: ${name}`, async t => {
    const { api, model, servers, dead, first, second } = await start(t, name)
    const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
    const dedalus = new Dedalus({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: question }]
    const extra: object = { mcp_servers: servers } // not in the types of the client

    const complete = await openai.chat.completions.create({ model, messages, ...extra })
    t.equal(complete.choices[0]?.finish_reason, 'stop')
    t.match(complete.choices[0]?.message, { content: /\w/, tool_calls: undefined })
    checkReport(t, complete, dead, 2)
    t.ok(
      (first.counts['tools/call'] ?? 0) >= 2 && (second.counts['tools/call'] ?? 0) >= 1,
      'they were really called'
    )

    let text = ''
    const finishes: string[] = []
    let roles = 0
    let last: unknown
    const ids = new Set<string>()
    for await (const chunk of await openai.chat.completions.create({
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...extra
    })) {
      const [choice] = chunk.choices
      text += choice?.delta.content ?? ''
      if (choice?.delta.role !== undefined) roles++
      if (choice?.finish_reason) finishes.push(choice.finish_reason)
      t.notOk(choice?.delta.tool_calls, 'calls of server tools are hidden')
      ids.add(chunk.id)
      last = chunk
    }
    t.match(text, /\w/)
    t.same(finishes, ['stop'], 'one finish')
    t.equal(roles, 1, 'one role')
    t.equal(ids.size, 1, 'one id')
    checkReport(t, last, dead, 2)
    // the mock of these two reports no usage in streams
    const isCounted = name !== 'anthropic' && name !== 'google'
    t.match(last, { choices: [], usage: isCounted ? { total_tokens: Number } : null })

    const theirs = await dedalus.chat.completions.create({ model, messages, ...extra })
    t.match(theirs.choices[0]?.message.content, /\w/)
    checkReport(t, theirs, dead, 2)
    let streamed = ''
    for await (const chunk of await dedalus.chat.completions.create({
      model,
      messages,
      ...extra,
      stream: true
    })) {
      streamed += chunk.choices[0]?.delta.content ?? ''
    }
    t.match(streamed, /\w/)
    const initialised = (first.counts['initialize'] ?? 0) + (second.counts['initialize'] ?? 0)
    t.equal(initialised, 2, 'sessions are reused')
  })

  t.test(`a turn that also calls the caller's own function: ${name}`, async t => {
    const { api, model, servers, dead } = await start(t, name)
    const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: ownQuestion }]
    const extra: object = { mcp_servers: servers }
    const complete = await openai.chat.completions.create({
      model,
      messages,
      tools: [ownFunction],
      ...extra
    })
    t.match(complete.choices[0], {
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ type: 'function', function: { name: 'own_function' } }] }
    })
    t.equal(complete.choices[0]?.message.tool_calls?.length, 1, "only the caller's own")
    checkReport(t, complete, dead, 1)

    const final = await openai.chat.completions
      .stream({ model, messages, tools: [ownFunction], ...extra })
      .finalChatCompletion()
    t.match(final.choices[0], {
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'own_function' } }] }
    })
    t.equal(final.choices[0]?.message.tool_calls?.length, 1)

    const notRun: object = { ...extra, automatic_tool_execution: false }
    const raw = await openai.chat.completions.create({ model, messages, tools: [ownFunction], ...notRun })
    t.equal(raw.choices[0]?.message.tool_calls?.length, 3, 'nothing is executed if the request says so')
    t.notOk('tools_executed' in raw)
  })
}

/** The tool result in the tests below: the beginning of a PNG file. */
const picture = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')
const signature = 'c2lnbmF0dXJl'
const input = { data: picture }

interface Signing {
  readonly model: string
  readonly settings: (url: string) => ProviderSettings
  /** First turn: thinks, signs, calls `image`. Second turn: `A picture.` Each both complete and streamed. */
  readonly turns: ReadonlyArray<{ readonly complete: object, readonly events: readonly object[] }>
  /** Fields that the second request must contain. */
  readonly expected: object
}

function claude (
  stop: string,
  ...blocks: Array<{ block: object, deltas: object[], done?: object }>
): Signing['turns'][number] {
  const head = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    stop_reason: null,
    usage: { input_tokens: 3, output_tokens: 1 }
  }
  return {
    complete: {
      ...head,
      content: blocks.map(({ block, done }) => ({ ...block, ...done })),
      stop_reason: stop
    },
    events: [
      { type: 'message_start', message: { ...head, content: [] } },
      ...blocks.flatMap(({ block, deltas }, index) => [
        { type: 'content_block_start', index, content_block: block },
        ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index }
      ]),
      { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 9 } },
      { type: 'message_stop' }
    ]
  }
}

function gemini (...parts: object[]): Signing['turns'][number] {
  const complete = {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 9, totalTokenCount: 12 }
  }
  return { complete, events: [complete] }
}

const signing: Readonly<Record<string, Signing>> = {
  anthropic: {
    model: 'anthropic/claude-sonnet-4-5',
    settings: url => upstreamAt(url, 'anthropic', 'anthropic'),
    turns: [
      claude(
        'tool_use',
        {
          block: { type: 'thinking', thinking: '', signature: '' },
          deltas: [
            { type: 'thinking_delta', thinking: 'Hm.' },
            { type: 'signature_delta', signature }
          ],
          done: { thinking: 'Hm.', signature }
        },
        {
          block: { type: 'redacted_thinking', data: 'c2VjcmV0' },
          deltas: []
        },
        {
          block: { type: 'tool_use', id: 'toolu_1', name: 'image', input: {} },
          deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }],
          done: { input }
        }
      ),
      claude('end_turn', {
        block: { type: 'text', text: '' },
        deltas: [{ type: 'text_delta', text: 'A picture.' }],
        done: { text: 'A picture.' }
      })
    ],
    expected: {
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature },
            { type: 'redacted_thinking', data: 'c2VjcmV0' },
            { type: 'tool_use', id: 'toolu_1', name: 'image', input }
          ]
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: /^\[image 1/ },
            { type: 'text' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } }
          ]
        }
      ]
    }
  },
  google: {
    model: 'google/gemini-2.5-pro',
    settings: url => upstreamAt(url, 'google', 'google'),
    turns: [
      gemini(
        { text: 'Hm.', thought: true },
        { functionCall: { name: 'image', args: input }, thoughtSignature: signature }
      ),
      gemini({ text: 'A picture.' })
    ],
    expected: {
      contents: [
        { role: 'user' },
        {
          role: 'model',
          parts: [{ functionCall: { name: 'image', args: input }, thoughtSignature: signature }]
        },
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'image', response: { output: /^\[image 1/ } } }]
        },
        {
          role: 'user',
          parts: [{ text: /image/ }, { inlineData: { mimeType: 'image/png', data: picture } }]
        }
      ]
    }
  }
}

for (const [name, { model, settings: provider, turns, expected }] of Object.entries(signing)) {
  t.test(`signatures of ${name} are sent back to it with the results, including images`, async t => {
    const upstream = await fakeUpstream((request, number) => {
      const { complete, events } = turns[number % turns.length] ?? {}
      const streamed = /stream/.test(request.path) || /"stream":true/.test(request.text)
      return streamed
        ? { headers: eventStream, pieces: (events ?? []).map(event => `data: ${JSON.stringify(event)}\n\n`) }
        : { pieces: [JSON.stringify(complete)] }
    })
    t.teardown(upstream.close)
    const server = await startToolServer(t)
    const api = await testGateway(t, {
      providers: [provider(upstream.url)],
      tools: { ...settings().tools, callMs: 10_000, loopMs: 20_000, allowedHosts: ['127.0.0.1'] }
    })
    for (const stream of [false, true]) {
      const response = await api.post('/v1/chat/completions', {
        model,
        messages: 'draw',
        stream,
        mcp_servers: server.url,
        reasoning_effort: 'low'
      })
      t.match(await response.text(), /"content":"A picture\."/)
      t.match(upstream.requests.at(-1)?.json, expected, stream ? 'streamed' : 'complete')
    }
    t.equal(upstream.requests.length, 4)
  })
}

t.test('official clients ignore the tool events', async t => {
  const { api, model, servers, first } = await start(t, 'sandbox')
  const messages = [{ role: 'user' as const, content: 'use progress with {} and second_only with {}' }]
  const extra: object = {
    mcp_servers: servers,
    stream_options: { include_usage: true, include_tool_events: true }
  }
  const stream = await (
    await api.post('/v1/chat/completions', { model, messages, stream: true, ...extra })
  ).text()
  for (const type of ['tool-start', 'tool-progress', 'tool-end']) t.match(stream, `"type":"${type}"`)

  const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  const final = await openai.chat.completions.stream({ model, messages, ...extra }).finalChatCompletion()
  t.match(final.choices, [{ finish_reason: 'stop', message: { role: 'assistant', content: /done/ } }])
  t.equal(final.choices.length, 1)
  const dedalus = new Dedalus({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
  let text = ''
  for await (const chunk of await dedalus.chat.completions.create({
    model,
    messages,
    ...extra,
    stream: true
  })) {
    text += chunk.choices[0]?.delta.content ?? ''
  }
  t.equal(text, final.choices[0]?.message.content)
  t.equal(first.counts['tool progress'], 3)
})

t.test('a run that has used up its tokens says so, complete and streamed', async t => {
  const server = await startToolServer(t)
  const api = await testGateway(t, {
    providers: [upstreamAt('sandbox:', 'sandbox', 'sandbox')],
    tools: { ...settings().tools, loopTokens: 1, allowedHosts: ['127.0.0.1'] }
  })
  for (const stream of [false, true]) {
    const answer = await api.post('/v1/chat/completions', {
      model: 'sandbox/echo',
      messages: 'use echo with {}',
      stream,
      mcp_servers: server.url
    })
    const text = await answer.text()
    t.match(text, '"tool_loop_stopped":{"reason":"tokens","turns":1}')
    t.match(text, '"finish_reason":"tool_calls"')
  }
  t.equal(server.counts['tools/call'], undefined, 'nothing was executed')
})

t.test('a client disconnect during a tool call cancels the tool, and nothing stays open', async t => {
  const { api, servers, first } = await start(t, 'sandbox')
  const leaving = new AbortController()
  const answer = api.post(
    '/v1/chat/completions',
    { model: 'sandbox/echo', messages: 'use slow with {}', mcp_servers: servers, stream: true },
    { signal: leaving.signal }
  )
  answer.catch(() => undefined)
  await until(() => (first.counts['tools/call'] ?? 0) === 1, 'the first server to be called')
  leaving.abort()
  await until(() => first.cancelled.length === 1, 'one cancelled tool call')
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { outcome: 'client_closed' })
  await api.gateway.close()
  await until(() => first.sockets.size === 0, 'every connection to the first server to close')
  t.ok((first.counts['DELETE'] ?? 0) >= 1, 'the session is ended properly')
})

/** A model that calls `name` in its first turn and hangs in the second. */
async function calling (t: Test, name: string, limits: Partial<Settings['limits']>) {
  const call = { index: 0, id: 'a', type: 'function', function: { name, arguments: '{}' } }
  const turn = JSON.stringify({
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, tool_calls: [call] },
        finish_reason: 'tool_calls'
      }
    ]
  })
  const upstream = await fakeUpstream((_request, number) =>
    number === 0 ? { pieces: [turn] } : { silent: true }
  )
  t.teardown(upstream.close)
  const server = await startToolServer(t)
  const all = settings()
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`)],
    limits: { ...all.limits, ...limits },
    tools: {
      ...all.tools,
      callMs: 20_000,
      loopMs: 20_000,
      sessionIdleMs: 20_000,
      allowedHosts: ['127.0.0.1']
    }
  })
  const ask = async (signal?: AbortSignal): Promise<Response> =>
    await api.post(
      '/v1/chat/completions',
      { model: 'openai/gpt-5', messages: 'go', mcp_servers: server.url },
      signal === undefined ? {} : { signal }
    )
  return { api, upstream, server, ask }
}

t.test('a client disconnect while the model has the results cancels the provider request', async t => {
  const { upstream, server, ask, api } = await calling(t, 'echo', {})
  const leaving = new AbortController()
  ask(leaving.signal).catch(() => undefined)
  const second = await upstream.request(1)
  leaving.abort()
  await second.aborted
  // the connection of the first turn may be reused for the next call
  await until(() => upstream.sockets() <= 1, 'at most one connection to the provider')
  await api.gateway.close()
  await until(
    () => server.sockets.size === 0 && upstream.sockets() === 0,
    'every connection to the server and the provider to close'
  )
})

t.test('a call that times out ends its tools too', async t => {
  const { upstream, server, ask, api } = await calling(t, 'slow', { callMs: 300 })
  const response = await ask()
  t.equal(response.status, 504)
  t.match(await response.json(), { error: { type: 'server_error', code: 'timeout' } })
  await until(
    () => server.cancelled.length === 1 && server.waiting.size === 0,
    'the tool call to be cancelled and to end'
  )
  t.equal(upstream.requests.length, 1, 'no further turn is requested')
  await api.gateway.close()
  await until(
    () => server.sockets.size === 0 && upstream.sockets() === 0,
    'every connection to the server and the provider to close'
  )
})

t.test('a call over the limit neither calls the model nor opens a session', async t => {
  const { upstream, server, ask, api } = await calling(t, 'slow', { openCalls: 1 })
  const leaving = new AbortController()
  ask(leaving.signal).catch(() => undefined)
  await until(() => server.counts['tool slow'] === 1, 'the slow tool to be called')
  const before = {
    requests: upstream.requests.length,
    headers: server.headers.length,
    sockets: server.sockets.size
  }
  const response = await ask()
  t.equal(response.status, 503)
  t.match(response.headers.get('retry-after'), /^\d+$/)
  t.match(await response.json(), { error: { type: 'server_error', code: 'overloaded' } })
  t.same(
    { requests: upstream.requests.length, headers: server.headers.length, sockets: server.sockets.size },
    before
  )
  leaving.abort()
  await until(() => api.lines.length === 2, 'two lines in the log')
  await api.gateway.close()
  await until(
    () => server.sockets.size === 0 && upstream.sockets() === 0,
    'every connection to the server and the provider to close'
  )
})

t.test('a model call interrupted in a later turn ends the stream with a named error', async t => {
  const [head = '', ...rest] = chatFrames(['half'])
  const call = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'echo', arguments: '{"message":"hi"}' } }] }, finish_reason: 'tool_calls' }] })}\n\ndata: [DONE]\n\n`
  const upstream = await fakeUpstream((_request, number) => ({
    headers: eventStream,
    pieces: number === 0 ? [call] : [head, rest[0] ?? '']
  }))
  t.teardown(upstream.close)
  const server = await startToolServer(t)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`)],
    tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] }
  })
  const text = await (
    await api.post('/v1/chat/completions', {
      model: 'openai/gpt-5',
      messages: 'hi',
      stream: true,
      mcp_servers: server.url
    })
  ).text()
  t.match(text, /"content":"half"/)
  t.match(text, /event: error\n.*upstream_stream_interrupted/)
  t.notMatch(text, /DONE/)
  t.match(upstream.requests[1]?.json, {
    messages: [
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'a' }] },
      { role: 'tool', tool_call_id: 'a' }
    ]
  })
})
