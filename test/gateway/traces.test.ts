/** One trace across the caller, the gateway, providers and MCP servers. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { collector, type Collector, type SeenSpan } from '../support/collector.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { otlpSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { remoteServer } from '../support/tool-servers.ts'
import { until } from '../support/until.ts'
import { dialects, protocols } from '../support/conversations.ts'
import { word } from '../support/word-stages.ts'
import {
  chatAnswer, eventStream, fakeUpstream, toolCallAnswer, type FakeUpstream, type Script
} from '../support/upstream.ts'
import type { Propagation } from '../../lib/core/call-trace.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { Settings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'
const hello = { messages: [{ role: 'user', content: 'hi' }], model: 'one/m' }
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const context = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'a=1', baggage: 'user=1' }

const telemetryAt = (endpoint: string): Settings['telemetry'] => ({
  maxSampledPerSecond: 100, otlp: otlpSettings(endpoint)
})

interface Traced {
  readonly api: TestGateway
  readonly seen: Collector
  readonly upstream: FakeUpstream
  /** Closes the gateway, which sends pending spans. */
  readonly spans: () => Promise<SeenSpan[]>
}

async function traced (
  t: Test,
  parts: Partial<Settings> = {},
  propagate?: Propagation,
  script: Script | Parameters<typeof fakeUpstream>[0] = { pieces: [chatAnswer('one')] },
  more: Partial<GatewayOptions> = {}
): Promise<Traced> {
  const seen = await collector(t)
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const provider = upstreamAt(`${upstream.url}/v1`, 'one', 'openai-compatible', {
    retries: 1,
    ...propagate !== undefined && { propagate }
  })
  const api = await testGateway(
    t,
    { providers: [provider], telemetry: telemetryAt(seen.url), ...parts },
    {},
    more
  )
  return {
    api, seen, upstream,
    spans: async () => {
      await api.gateway.close()
      return seen.spans()
    }
  }
}

const headersOf = ({ requests }: FakeUpstream): unknown[] =>
  requests.map(({ headers: { traceparent, tracestate, baggage } }) => ({ traceparent, tracestate, baggage }))

t.test(
  'a call continues the trace of its caller, and a provider on our own network that of the call',
  async t => {
    const { api, upstream, spans } = await traced(t)
    const response = await api.post(path, hello, { headers: context })
    t.equal(response.headers.get('x-headgate-trace-id'), traceId)
    await response.text()
    const all = await spans()
    const [server, attempt] = [all.find(({ kind }) => kind === 2), all.find(({ kind }) => kind === 3)]
    t.match(server, { traceId, parentSpanId: parentId })
    t.match(attempt, { traceId, parentSpanId: server?.spanId })
    t.strictSame(headersOf(upstream), [
      { traceparent: `00-${traceId}-${attempt?.spanId}-01`, tracestate: 'a=1', baggage: undefined }
    ])
    t.match(
      api.lines.find(({ msg }) => msg === 'call'),
      { trace_id: traceId }
    )
  }
)

for (const [propagate, expected] of [
  ['none', { traceparent: undefined, tracestate: undefined, baggage: undefined }],
  ['all', { traceparent: RegExp(`^00-${traceId}-`), tracestate: 'a=1', baggage: 'user=1' }]
] as const) {
  t.test(`a provider with \`propagate: ${propagate}\` gets that`, async t => {
    const { api, upstream } = await traced(t, {}, propagate)
    await (await api.post(path, hello, { headers: context })).text()
    t.match(headersOf(upstream), [expected])
  })
}

t.test('each attempt sends its provider a span id of its own', async t => {
  const script = (_: unknown, number: number): Script =>
    number === 0 ? { status: 500, pieces: ['{}'] } : { pieces: [chatAnswer('one')] }
  const { api, upstream, spans } = await traced(t, {}, undefined, script)
  await (await api.post(path, hello)).text()
  const attempts = (await spans()).filter(({ kind }) => kind === 3).toSorted((a, b) => a.startMs - b.startMs)
  t.match(attempts, [{ failed: true }, { failed: false }])
  t.strictSame(
    upstream.requests.map(({ headers }) => headers['traceparent']),
    attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)
  )
})

t.test('a malformed header starts a new trace', async t => {
  const { api, spans } = await traced(t)
  const response = await api.post(path, hello, {
    headers: { traceparent: 'x', tracestate: '=', baggage: '=' }
  })
  t.equal(response.status, 200)
  await response.text()
  const all = await spans()
  t.equal(all.length, 2)
  t.match(
    all.find(({ kind }) => kind === 2),
    { traceId: response.headers.get('x-headgate-trace-id'), parentSpanId: undefined }
  )
})

t.test('a call whose caller does not sample sends nothing, and its provider gets the same flag', async t => {
  const { api, upstream, seen, spans } = await traced(t)
  const response = await api.post(path, hello, { headers: { traceparent: `00-${traceId}-${parentId}-00` } })
  t.equal(response.headers.get('x-headgate-trace-id'), traceId)
  t.match(headersOf(upstream), [{ traceparent: /-00$/ }])
  t.same(await spans(), [])
  t.equal(seen.requests.length, 0)
})

t.test('without traces a provider gets only the id of the call', async t => {
  const { api, upstream } = await traced(t, { telemetry: { maxSampledPerSecond: 1 } })
  const response = await api.post(path, hello, { headers: context })
  t.equal(response.headers.get('x-headgate-trace-id'), null)
  t.match(headersOf(upstream), [{ traceparent: undefined, baggage: undefined }])
  t.equal(upstream.requests[0]?.headers['x-request-id'], response.headers.get('x-request-id'))
  t.notOk('trace_id' in (api.lines.find(({ msg }) => msg === 'call') ?? {}))
})

const toolTurns = (_: unknown, number: number): Script => ({
  pieces: [number === 0 ? toolCallAnswer('echo') : chatAnswer('ok')]
})
const tools = {
  ...settings().tools,
  callMs: 10_000,
  loopMs: 20_000,
  connectMs: 10_000,
  allowedHosts: ['127.0.0.1']
}

t.test(
  'a configured MCP server gets the trace in `_meta`, and each listing and call has a span',
  async t => {
    const server = await startToolServer(t)
    const { api, spans } = await traced(
      t,
      { tools, toolServers: [remoteServer('org/test', server.url, { propagate: 'all' })] },
      undefined,
      toolTurns
    )
    t.equal(
      (await api.post(path, { ...hello, mcp_servers: ['org/test'] }, { headers: context })).status,
      200
    )
    const all = await spans()
    const top = all.find(({ kind }) => kind === 2)
    const [listing, run] = ['tools/list', 'tools/call echo'].map(name =>
      all.find(span => span.name === name)
    )
    t.match(listing, {
      parentSpanId: top?.spanId,
      failed: false,
      attributes: { 'mcp.method.name': 'tools/list', 'headgate.tool_server': 'org/test' }
    })
    t.match(run, { parentSpanId: top?.spanId, failed: false, attributes: { 'gen_ai.tool.name': 'echo' } })
    const metaOf = (wanted: string): object | undefined =>
      server.metas.find(({ method }) => method === wanted)?.meta
    t.match(metaOf('tools/list'), {
      traceparent: `00-${traceId}-${listing?.spanId}-01`,
      tracestate: 'a=1',
      baggage: 'user=1'
    })
    t.match(metaOf('tools/call'), {
      traceparent: `00-${traceId}-${run?.spanId}-01`,
      tracestate: 'a=1',
      baggage: 'user=1'
    })
    t.match(top?.events, [{ name: 'headgate.wait' }], 'the call waited for its MCP server')
  }
)

t.test(
  'an MCP server named by the caller gets no trace, and an unreachable one has a failed span',
  async t => {
    const server = await startToolServer(t)
    const { api, spans } = await traced(t, { tools }, 'all', toolTurns)
    const gone = { name: 'gone', url: server.url.replace(/:\d+/, ':1') }
    await (await api.post(path, { ...hello, mcp_servers: [server.url, gone] }, { headers: context })).text()
    t.same(
      server.metas.filter(({ meta }) => meta !== undefined && 'traceparent' in meta),
      []
    )
    t.equal(server.metas.filter(({ method }) => method === 'tools/call').length, 1)
    t.match(
      (await spans()).filter(({ name }) => name === 'tools/list').find(({ failed }) => failed),
      { attributes: { 'headgate.tool_server': 'gone', 'error.type': /^(connect|initialize)_failed$/ } }
    )
  }
)

t.test('a request sent in parts has a span for each below that of its attempt', async t => {
  const parts = 9 // one more than are sent at once
  const { api, upstream, spans } = await inParts(t, () => ({ pieces: [chatAnswer('one')] }))
  const response = await api.post(path, { ...hello, model: 'deepseek/m', n: parts })
  t.equal(response.status, 200)
  await response.text()
  const all = await spans()
  const [attempt, ...others] = all.filter(({ name }) => name === 'chat m')
  t.same(others, [])
  t.equal(attempt?.attributes['gen_ai.usage.input_tokens'], 3 * parts)
  const sent = all.filter(({ name }) => name === 'part of chat m').toSorted((a, b) => a.startMs - b.startMs)
  t.strictSame(
    sent.map(({ kind, failed, parentSpanId, attributes }) => ({ kind, failed, parentSpanId, attributes })),
    Array.from({ length: parts }, (_, index) => ({
      kind: 3,
      failed: false,
      parentSpanId: attempt?.spanId,
      attributes: {
        'headgate.provider': 'deepseek', 'headgate.model': 'deepseek/m', 'headgate.part': index + 1
      }
    }))
  )
  t.ok(
    sent.every(({ startMs, endMs }) =>
      startMs >= (attempt?.startMs ?? Infinity) && endMs <= (attempt?.endMs ?? 0)),
    'all within the attempt'
  )
  const firstEnd = Math.min(...sent.slice(0, -1).map(({ endMs }) => endMs))
  t.ok(firstEnd <= (sent.at(-1)?.startMs ?? 0), 'the last began when another had ended')
  t.strictSame(
    upstream.requests.map(({ headers }) => String(headers['traceparent'])).toSorted(),
    sent.map(span => `00-${span.traceId}-${span.spanId}-01`).toSorted(),
    'each part is sent with its own span'
  )
})

t.test('the part that failed has its reason, and those aborted with it are marked cancelled', async t => {
  const { api, spans } = await inParts(t, async (number, upstream) => {
    if (number > 0) return { silent: true }
    await upstream.request(2)
    return { status: 400, pieces: ['{"error":{"message":"no"}}'] }
  })
  const response = await api.post(path, { ...hello, model: 'deepseek/m', n: 3 })
  t.equal(response.status, 400)
  await response.text()
  const ends = (await spans())
    .filter(({ name }) => name === 'part of chat m')
    .map(({ failed, attributes }) => [
      failed, attributes['error.type'], attributes['http.response.status_code']
    ])
  t.strictSame(ends.toSorted((a, b) => String(a[1]).localeCompare(String(b[1]))), [
    [false, 'cancelled', undefined],
    [false, 'cancelled', undefined],
    [true, 'upstream_invalid_request', 400]
  ])
})

/** A gateway with a provider that returns one choice per request. */
async function inParts (
  t: Test, script: (number: number, upstream: FakeUpstream) => Script | Promise<Script>
): Promise<Pick<Traced, 'api' | 'upstream' | 'spans'>> {
  const seen = await collector(t)
  const upstream: FakeUpstream = await fakeUpstream((_, number) => script(number, upstream))
  t.teardown(upstream.close)
  const provider = upstreamAt(upstream.url, 'deepseek', 'deepseek', { propagate: 'traceparent' })
  const api = await testGateway(t, { providers: [provider], telemetry: telemetryAt(seen.url) })
  return {
    api, upstream,
    spans: async () => {
      await api.gateway.close()
      return seen.spans()
    }
  }
}

t.test('a cached tool list is not requested again, and has no span', async t => {
  const server = await startToolServer(t)
  const script = (_: unknown, number: number): Script => toolTurns(_, number % 2)
  const { api, spans } = await traced(
    t,
    {
      tools: { ...tools, listTtlMs: 60_000, sessionIdleMs: 60_000 },
      toolServers: [remoteServer('org/test', server.url)]
    },
    undefined,
    script
  )
  for (let call = 0; call < 2; call++) {
    await (await api.post(path, { ...hello, mcp_servers: ['org/test'] })).text()
  }
  t.equal(server.counts['tools/list'], 1)
  t.equal((await spans()).filter(({ name }) => name === 'tools/list').length, 1)
})

t.test('each guard that inspected the call has a span with the outcome', async t => {
  const stages: Settings['guards'] = [
    {
      name: 'islands',
      use: 'pattern',
      at: ['request', 'answer'],
      action: 'mask',
      patterns: [{ name: 'island', match: 'Z[a-z]{6}r', maxLength: 8 }]
    }
  ]
  const { api, spans } = await traced(t, { guards: stages })
  await (await api.post(path, { ...hello, messages: [{ role: 'user', content: 'to Zanzibar' }] })).text()
  const all = await spans()
  const top = all.find(({ kind }) => kind === 2)
  const inspections = all.filter(({ name }) => name === 'stage islands')
  t.strictSame(inspections.map(({ attributes }) => String(attributes['headgate.stage.point'])).toSorted(), [
    'answer',
    'request'
  ])
  for (const inspection of inspections) {
    t.match(inspection, { kind: 1, parentSpanId: top?.spanId, failed: false })
    t.ok(
      inspection.startMs >= (top?.startMs ?? Infinity) &&
        inspection.endMs <= (top?.endMs ?? 0) &&
        inspection.endMs >= inspection.startMs
    )
  }
  t.strictSame(
    inspections.find(({ attributes }) => attributes['headgate.stage.point'] === 'request')?.attributes[
      'headgate.stage.findings'
    ],
    ['mask 1']
  )
})

const islands: Settings['guards'] = [
  {
    name: 'islands',
    use: 'pattern',
    at: ['request', 'answer'],
    action: 'mask',
    patterns: [{ name: 'island', match: word, maxLength: word.length }]
  }
]
const everyText: Settings['telemetry']['otlp'] = otlpSettings('', {
  content: { projects: ['*'], maxBytes: 8192, redact: { fields: [], patterns: [] } }
})

for (const [dialectName, { path, request }] of Object.entries(dialects)) {
  for (const stream of [false, true]) {
    t.test(
      `if so configured, a span has prompts and answers as guards left them: ${dialectName} ${stream ? 'streamed' : 'complete'}`,
      async t => {
        const { complete, frames } = protocols.chat
        const seen = await collector(t)
        const telemetry = { maxSampledPerSecond: 1, otlp: { ...everyText, endpoint: seen.url } }
        const script = stream
          ? { headers: eventStream, pieces: [...frames] }
          : { pieces: [JSON.stringify(complete)] }
        const { api } = await traced(t, { telemetry, guards: islands }, undefined, script)
        const response = await api.post(path, { ...request('one/m', word), stream })
        t.equal(response.status, 200, await response.text())
        await api.gateway.close()
        const [server, attempt] = [2, 3].map(kind => seen.spans().find(span => span.kind === kind))
        const { 'gen_ai.input.messages': input, 'gen_ai.output.messages': output } =
          attempt?.attributes ?? {}
        const messagesOf = (text: unknown): unknown[] => JSON.parse(String(text)) as unknown[]
        t.ok(messagesOf(input).length > 0)
        t.match(String(input), '[island]')
        t.match(messagesOf(output), [{ role: 'assistant' }])
        t.match(String(output), 'I went to [island].')
        t.notOk(JSON.stringify(seen.spans()).includes(word), 'the masked word is in no span')
        t.notOk('gen_ai.input.messages' in (server?.attributes ?? {}), 'once')
      }
    )
  }
}

t.test(
  "texts are on the call's span if several answers made the result; after a refusal there are none",
  async t => {
    const server = await startToolServer(t)
    const content = (endpoint: string): Settings['telemetry'] => ({
      maxSampledPerSecond: 1,
      otlp: { ...everyText, endpoint }
    })
    const seen = await collector(t)
    const { api } = await traced(
      t,
      {
        tools,
        toolServers: [remoteServer('org/test', server.url)],
        telemetry: content(seen.url),
        guards: islands.map(stage => ({ ...stage, action: 'refuse' }))
      },
      undefined,
      toolTurns
    )
    await (await api.post(path, { ...hello, mcp_servers: ['org/test'] })).text()
    t.equal((await api.post(path, { ...hello, messages: [{ role: 'user', content: word }] })).status, 400)
    await api.gateway.close()
    const [looped, refused] = seen.spans().filter(({ kind }) => kind === 2)
    t.match(looped?.attributes, {
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]',
      'gen_ai.output.messages':
        '[{"role":"assistant","parts":[{"type":"text","content":"ok"}],"finish_reason":"stop"}]'
    })
    t.equal(seen.spans().filter(({ attributes }) => 'gen_ai.input.messages' in attributes).length, 1)
    t.equal(refused?.attributes['gen_ai.input.messages'], undefined)
    t.notOk(JSON.stringify(seen.spans()).includes(word))
  }
)

t.test('OpenInference attributes can be enabled, also for long conversations', async t => {
  const seen = await collector(t)
  const { api } = await traced(t, {
    telemetry: { maxSampledPerSecond: 1, otlp: { ...everyText, endpoint: seen.url, openinference: true } }
  })
  const messages = Array.from({ length: 100 }, (_, index) => ({ role: 'user', content: `text ${index}` }))
  await (
    await api.post(path, { ...hello, messages, user: 'ann' }, { headers: { 'x-headgate-tags': 'a,b' } })
  ).text()
  await api.gateway.close()
  const [server, attempt] = [2, 3].map(kind => seen.spans().find(span => span.kind === kind)?.attributes)
  t.match(server, {
    'openinference.span.kind': 'CHAIN',
    'user.id': 'ann',
    'tag.tags': ['a', 'b'],
    'headgate.tags': ['a', 'b']
  })
  t.match(attempt, {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'm',
    'llm.input_messages.99.message.content': 'text 99',
    'llm.output_messages.0.message.content': 'one'
  })
})

t.test('by default no text of a call is in a span', async t => {
  const { api, spans } = await traced(t, {}, undefined, { pieces: [chatAnswer('a word of the answer')] })
  await (
    await api.post(path, { ...hello, messages: [{ role: 'user', content: 'a word of the prompt' }] })
  ).text()
  const all = await spans()
  t.equal(all.length, 2)
  t.notMatch(JSON.stringify(all), /a word of/)
})

t.test(
  'the call of a killed process gets, once, the span that its provider got as parent',
  async t => {
    const openIn = async (directory: string): Promise<Database> => {
      const database = await openDatabase(directory)
      t.teardown(database.close)
      return database
    }
    const killed = t.testdir({ killed: {}, next: {} })
    const [before, after] = [join(killed, 'killed'), join(killed, 'next')]
    const first = await traced(t, {}, undefined, { silent: true }, { usageDatabase: await openIn(before) })
    const leaving = new AbortController()
    const call = first.api
      .post(path, hello, { headers: context, signal: leaving.signal })
      .catch(() => undefined)
    const request = await first.upstream.request(0)
    const journal = (): string =>
      readdirSync(before)
        .filter(name => name.endsWith('.jsonl'))
        .map(name => readFileSync(join(before, name), 'utf8'))
        .join('')
    await until(() => journal().includes(traceId), 'the row of the call in the journal')
    writeFileSync(join(after, 'usage-killed.jsonl'), journal())
    leaving.abort()
    await call

    const usageDatabase = await openIn(after)
    const second = await traced(t, {}, undefined, { silent: true }, { usageDatabase })
    await until(() => !readdirSync(after).includes('usage-killed.jsonl'), 'the import of the journal')
    const spans = await second.spans()
    t.equal(spans.length, 1)
    t.match(spans[0], {
      kind: 2,
      traceId,
      parentSpanId: parentId,
      failed: true,
      attributes: {
        'headgate.recovered': true,
        'headgate.outcome': 'interrupted',
        'headgate.model': 'one/m'
      }
    })
    t.match(request.headers['traceparent'], RegExp(`^00-${traceId}-`))

    // The same journal again: its row is already in the store.
    writeFileSync(join(after, 'usage-again.jsonl'), journal())
    const third = await traced(t, {}, undefined, { silent: true }, { usageDatabase: await openIn(after) })
    await until(() => !readdirSync(after).includes('usage-again.jsonl'), 'the second import')
    t.same(await third.spans(), [])
  }
)
