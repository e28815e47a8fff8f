/**
 * Calls of every kind with a real collector: its output is compared with the records of the calls.
 */

import t, { type Test } from 'tap'
import { noCollector, realCollector } from '../support/real-collector.ts'
import { ask, directoryOf, startGateway } from '../support/headgate.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { otlpSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { remoteServer } from '../support/tool-servers.ts'
import { until } from '../support/until.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  toolCallAnswer,
  type FakeUpstream,
  type Script
} from '../support/upstream.ts'
import type { SeenSpan } from '../support/collector.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const path = '/v1/chat/completions'
const hello = { messages: [{ role: 'user', content: 'to Zanzibar' }], model: 'one/m' }
const fine: Script = { pieces: [chatAnswer('one')] }
const stream: Script = { headers: eventStream, pieces: chatFrames(['one', 'two'], { usage: true }) }
const embedding: Script = {
  pieces: [
    JSON.stringify({
      object: 'list',
      model: 'm',
      data: [{ object: 'embedding', index: 0, embedding: [1] }],
      usage: { prompt_tokens: 3, total_tokens: 3 }
    })
  ]
}
const toolTurn: Script = { pieces: [toolCallAnswer('echo')] }
const stages: Settings['guards'] = [
  {
    name: 'islands',
    use: 'pattern',
    at: ['request', 'answer'],
    action: 'mask',
    patterns: [{ name: 'island', match: 'Z[a-z]{6}r', maxLength: 8 }]
  }
]

interface Kind {
  /** Answers of the first provider, by request number. */
  readonly script: Script | ((request: unknown, number: number) => Script)
  /** Default: chat completions. */
  readonly path?: string
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly settings?: Partial<Settings>
  readonly leaves?: true
  /** Names of the spans below that of the call. */
  readonly children: readonly string[]
}

const kinds: Readonly<Record<string, Kind>> = {
  complete: { script: fine, children: ['chat m'] },
  streamed: { script: stream, body: { stream: true }, children: ['chat m'] },
  'of Messages': { script: fine, path: '/v1/messages', body: { max_tokens: 9 }, children: ['chat m'] },
  'of Responses': {
    script: stream,
    path: '/v1/responses',
    body: { messages: undefined, input: 'to Zanzibar', stream: true },
    children: ['chat m']
  },
  'for embeddings': {
    script: embedding,
    path: '/v1/embeddings',
    body: { messages: undefined, input: 'to Zanzibar' },
    children: ['embeddings m']
  },
  'for images': {
    script: { pieces: [JSON.stringify({ created: 1, data: [{ b64_json: 'AA==' }] })] },
    path: '/v1/images/generations',
    body: { messages: undefined, prompt: 'Zanzibar' },
    children: ['images m']
  },
  'for speech': {
    script: { headers: { 'content-type': 'audio/mpeg' }, pieces: ['ID3'] },
    path: '/v1/audio/speech',
    body: { messages: undefined, input: 'to Zanzibar', voice: 'alloy' },
    children: ['speech m']
  },
  'in parts': {
    script: fine,
    body: { model: 'two/m', n: 3 },
    children: ['chat m', 'part of chat m', 'part of chat m', 'part of chat m']
  },
  'repeated after a failure': {
    script: (_, number) => (number === 0 ? { status: 500, pieces: ['{}'] } : fine),
    children: ['chat m', 'chat m']
  },
  'answered by the next model': {
    script: { status: 500, pieces: ['{}'] },
    body: { model: 'both' },
    settings: { routes: [{ name: 'both', models: ['one/m', 'two/m'] }] },
    children: ['chat m', 'chat m']
  },
  hedged: {
    script: { silent: true },
    body: { model: 'quick' },
    settings: { routes: [{ name: 'quick', models: ['one/m', 'two/m'], hedgeAfterMs: 20 }] },
    children: ['chat m', 'chat m']
  },
  'with tools': {
    script: (_, number) => (number === 0 ? toolTurn : fine),
    body: { mcp_servers: ['org/test'] },
    children: ['chat m', 'chat m', 'tools/call echo', 'tools/list']
  },
  'with a guard': {
    script: fine,
    settings: { guards: stages },
    children: ['chat m', 'stage islands', 'stage islands']
  },
  refused: { script: fine, headers: { authorization: 'Bearer wrong' }, children: [] },
  'of a caller who leaves': {
    script: { ...stream, pieces: chatFrames(['one']).slice(0, 2), then: 'stall' },
    body: { stream: true },
    leaves: true,
    children: ['chat m']
  }
}

t.test('a real collector', { skip: noCollector }, async t => {
  const { url, seen } = await realCollector(t)
  for (const [name, kind] of Object.entries(kinds)) {
    await t.test(`has the spans of a call ${name} that match its record`, async t => {
      const { api, calls, upstreams } = await gatewayFor(t, url, kind)
      await makeCall(api, kind)
      await until(() => calls.length === 1, 'the end of the call')
      await api.gateway.close()
      const [{ call, row } = { call: undefined, row: undefined }] = calls
      if (call === undefined) throw new Error('no call')
      const { traceId = '', spanId } = call.record.trace ?? {}
      const mine = (): SeenSpan[] => seen().spans.filter(span => span.traceId === traceId)
      await until(
        () => mine().length === kind.children.length + 1,
        `${kind.children.length + 1} spans, of ${seen().spans.length}`
      )
      const server = mine().find(span => span.kind === 2)
      const children = mine().filter(span => span !== server && span.kind !== 2)
      t.strictSame(children.map(span => span.name).toSorted(), kind.children.toSorted())
      compareServer(t, server, kind, call, row)
      const parts = children.filter(({ name }) => name.startsWith('part '))
      compareParts(t, parts, call)
      t.ok(
        children.every(span => parts.includes(span) || span.parentSpanId === spanId),
        "all except parts are children of the call's span"
      )
      const attempts = children.filter(span => span.name.endsWith(' m') && !parts.includes(span))
      compareAttempts(t, attempts, call)
      // The headers sent to providers on our own network match what the collector has.
      const sent = upstreams.flatMap(({ requests }) => requests.map(({ headers }) => headers['traceparent']))
      const parents = (parts.length > 0 ? parts : attempts).map(span => `00-${traceId}-${span.spanId}-01`)
      t.strictSame(sent.map(String).toSorted(), parents.toSorted())
    })
  }

  await t.test(
    'gets the span of a call whose gateway was killed during a stream, once the next gateway finds it',
    async t => {
      const [directory, traceId, parentId] = [directoryOf(t), 'c'.repeat(32), 'd'.repeat(16)]
      const upstream = await fakeUpstream({
        ...stream,
        pieces: chatFrames(['one']).slice(0, 2),
        then: 'stall'
      })
      t.teardown(upstream.close)
      writeFileSync(
        join(directory, 'headgate.yaml'),
        `providers: {one: {kind: openai-compatible, base_url: '${upstream.url}/v1'}}\ntelemetry: {otlp: {endpoint: '${url}'}}\n`
      )
      const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }
      const killed = await startGateway(t, directory, env)
      const response = await fetch(`${killed.url}${path}`, {
        method: 'POST',
        body: JSON.stringify({ ...hello, stream: true, user: 'ann' }),
        headers: {
          authorization: 'Bearer a-key-of-24-characters-00',
          'content-type': 'application/json',
          traceparent: `00-${traceId}-${parentId}-01`
        }
      })
      const reader = response.body?.getReader()
      await reader?.read()
      const journals = (): string =>
        readdirSync(directory, { recursive: true, encoding: 'utf8' })
          .filter(name => name.endsWith('.jsonl'))
          .map(name => readFileSync(join(directory, name), 'utf8'))
          .join('')
      await until(() => journals().includes(traceId), 'the row of the call in the journal')
      killed.child.kill('SIGKILL')
      await killed.ended
      await reader?.cancel().catch(() => undefined)
      t.notOk(
        seen().spans.some(span => span.traceId === traceId),
        'nothing was sent before'
      )

      const next = await startGateway(t, directory, env)
      const mine = (): SeenSpan[] => seen().spans.filter(span => span.traceId === traceId)
      await until(() => mine().length > 0, 'the span of the call', 30_000)
      next.child.kill('SIGTERM')
      await next.ended
      const [, sentTo = ''] =
        /^00-\w+-(\w+)-01$/.exec(
          String(
            upstream.requests.find(({ path: to }) => to.endsWith('/chat/completions'))?.headers[
              'traceparent'
            ]
          )
        ) ?? []
      t.strictSame(
        mine().map(span => [span.kind, span.parentSpanId, span.failed]),
        [[2, parentId, true]],
        'a single one, below the span of the caller'
      )
      t.match(mine()[0]?.attributes, {
        'headgate.recovered': true,
        'headgate.outcome': 'interrupted',
        'headgate.model': 'one/m',
        'headgate.provider': 'one',
        'headgate.attempts': 1,
        'headgate.usage.estimated': true,
        'user.id': 'ann'
      })
      t.ok(
        sentTo !== '' && sentTo !== mine()[0]?.spanId,
        'the provider got the id of a span that was lost with the process'
      )
    }
  )

  await t.test(
    'may go away and come back: no call is affected, and each span arrives or is counted as dropped',
    async t => {
      const away = await realCollector(t)
      const { api, calls } = await gatewayFor(t, away.url, {
        script: fine,
        children: [],
        settings: {
          telemetry: {
            maxSampledPerSecond: 1,
            otlp: otlpSettings(away.url, {
              protocol: 'http/protobuf',
              maxQueuedSpans: 20,
              content: { projects: ['*'], maxBytes: 8192, redact: { fields: [], patterns: [] } }
            })
          }
        }
      })
      const makeCalls = async (count: number): Promise<void> => {
        const statuses = await Promise.all(
          Array.from({ length: count }, async () => {
            const response = await api.post(path, hello)
            await response.text()
            return response.status
          })
        )
        t.same([...new Set(statuses)], [200])
      }
      await makeCalls(5)
      await until(() => away.seen().spans.length === 10, 'the spans of the first calls', 30_000)
      await away.stop()
      for (let round = 0; round < 10; round++) await makeCalls(20)
      await until(() => (api.gateway.load().spansDropped ?? 0) >= 400 - 20, 'all but a full queue', 30_000)
      await away.start()
      await until(
        async () => {
          await makeCalls(1)
          return away.seen().spans.length > 10
        },
        'spans to come again',
        30_000
      )
      await api.gateway.close()
      const { spansDropped = 0 } = api.gateway.load()
      await until(
        () => away.seen().spans.length + spansDropped === 2 * calls.length,
        'every span to be accounted for',
        10_000
      )
      t.equal(
        api.lines.filter(
          ({ msg }) => msg === 'spans were dropped: the queue was full, or the collector refused them'
        ).length,
        1,
        'it is logged once a minute'
      )
    }
  )

  await t.test('gets metrics and log lines of a gateway in the default encoding', async t => {
    const directory = directoryOf(t)
    writeFileSync(
      join(directory, 'headgate.yaml'),
      `providers: {sandbox: {}}\ntelemetry: {otlp: {endpoint: '${url}', metrics: true, logs: true}}\n`
    )
    const gateway = await startGateway(t, directory, { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' })
    t.match(await ask(gateway.url, 'a-key-of-24-characters-00'), { status: 200 })
    gateway.child.kill('SIGTERM')
    t.match(await gateway.ended, { code: 0 })
    await until(() => seen().metrics.length > 0, 'the metrics')
    t.match(
      seen().metrics.find(({ name }) => name === 'headgate_calls_total'),
      { kind: 'sum', points: [{ attributes: { model: 'sandbox/echo', outcome: 'ok' }, value: 1 }] }
    )
    const times = seen().metrics.find(({ name }) => name === 'gen_ai.client.operation.duration')
    t.match(times, {
      kind: 'histogram',
      unit: 's',
      points: [{ attributes: { 'gen_ai.operation.name': 'chat' } }]
    })
    t.equal(
      times?.points[0]?.counts?.reduce((sum, count) => sum + count, 0),
      1
    )
    const line = seen().logs.find(
      ({ body, attributes }) => body === 'call' && attributes['model'] === 'sandbox/echo'
    )
    t.match(line, { severity: 9, attributes: { endpoint: 'chat', usage: { prompt: Number } } })
    t.equal(seen().spans.find(span => span.spanId === line?.spanId)?.traceId, line?.traceId)
  })
})

interface Ended {
  readonly call: Call
  readonly row: UsageRow | undefined
}

async function gatewayFor (
  t: Test,
  endpoint: string,
  { script, settings: parts = {} }: Kind
): Promise<{ api: TestGateway, calls: Ended[], upstreams: FakeUpstream[] }> {
  const [one, two, tools] = [await fakeUpstream(script), await fakeUpstream(fine), await startToolServer(t)]
  t.teardown(one.close)
  t.teardown(two.close)
  const calls: Ended[] = []
  const api = await testGateway(
    t,
    {
      providers: [
        upstreamAt(`${one.url}/v1`, 'one', 'openai-compatible', { retries: 1 }),
        upstreamAt(`${two.url}/v1`, 'two', 'groq')
      ],
      tools: {
        ...settings().tools,
        connectMs: 10_000,
        callMs: 10_000,
        loopMs: 20_000,
        allowedHosts: ['127.0.0.1']
      },
      toolServers: [remoteServer('org/test', tools.url)],
      telemetry: { maxSampledPerSecond: 100, otlp: otlpSettings(endpoint, { protocol: 'http/protobuf' }) },
      ...parts
    },
    {},
    { observers: [(call, row) => calls.push({ call, row })] }
  )
  return { api, calls, upstreams: [one, two] }
}

async function makeCall (
  api: TestGateway,
  { path: to = path, body, headers = {}, leaves }: Kind
): Promise<void> {
  const leaving = new AbortController()
  const response = await api.post(to, { ...hello, ...body }, { headers, signal: leaving.signal })
  if (leaves !== true) {
    await response.text()
    return
  }
  await response.body?.getReader().read()
  leaving.abort()
}

function compareServer (
  t: Test,
  server: SeenSpan | undefined,
  { path: to = path }: Kind,
  { id, record, receivedAtMs }: Call,
  row: UsageRow | undefined
): void {
  t.match(server, { name: `POST ${to}`, failed: false, parentSpanId: undefined })
  const expected = {
    'headgate.call.id': id,
    'http.response.status_code': record.end.status,
    'headgate.outcome': record.end.outcome,
    'headgate.key.id': record.caller.keyId,
    'headgate.model': record.routing.modelId,
    'headgate.provider': record.routing.providerId,
    'headgate.attempts': record.routing.requestCount,
    'headgate.hedges': record.routing.hedges,
    'headgate.retries': record.routing.retries,
    'headgate.turns': record.tools.turns,
    'error.type': record.end.errorCode,
    'headgate.usage.input_tokens': row?.prompt_tokens ?? record.usage.total?.promptTokens,
    'headgate.usage.output_tokens': row?.completion_tokens ?? record.usage.total?.completionTokens
  }
  for (const [name, value] of Object.entries(expected)) t.equal(server?.attributes[name], value, name)
  const output = server?.events.find(({ name }) => name === 'headgate.first_output')
  t.equal(output === undefined, record.times.firstByteMs === undefined)
  if (output !== undefined) near(t, output.atMs - (server?.startMs ?? 0), record.times.firstByteMs)
  t.ok((server?.endMs ?? 0) >= (server?.startMs ?? Infinity))
  t.ok(Number.isFinite(receivedAtMs))
}

function compareAttempts (t: Test, spans: readonly SeenSpan[], { record, receivedAtMs }: Call): void {
  const { routing: { attempts = [] } } = record
  t.equal(spans.length, attempts.length)
  const start = Math.min(...spans.map(({ startMs }) => startMs))
  const first = Math.min(...attempts.map(({ startedAtMs }) => startedAtMs))
  for (const request of attempts) {
    const span = spans.find(({ spanId }) => spanId === request.span?.spanId)
    t.equal(span?.attributes['headgate.provider'], request.route.providerId)
    t.equal(span?.attributes['error.type'], request.reason)
    t.equal(span?.attributes['http.response.status_code'], request.status)
    near(t, (span?.startMs ?? 0) - start, request.startedAtMs - first)
    const endedAtMs =
      request.reason === undefined || request.endedAtMs !== undefined
        ? request.endedAtMs
        : request.outcomeAtMs
    if (endedAtMs !== undefined) {
      near(t, (span?.endMs ?? 0) - (span?.startMs ?? 0), endedAtMs - request.startedAtMs)
    }
  }
  t.ok(first === Infinity || first >= receivedAtMs)
}

function compareParts (t: Test, spans: readonly SeenSpan[], {
  record: { routing: { sentParts = [] } }
}: Call): void {
  t.equal(spans.length, sentParts.length)
  for (const { number, span: { spanId }, attemptSpan, startedAtMs, endedAtMs = NaN, reason } of sentParts) {
    const span = spans.find(sent => sent.spanId === spanId)
    t.equal(span?.parentSpanId, attemptSpan.spanId, 'below the attempt')
    t.equal(span?.attributes['headgate.part'], number)
    t.equal(span?.attributes['error.type'], reason)
    near(t, (span?.endMs ?? 0) - (span?.startMs ?? 0), endedAtMs - startedAtMs)
  }
}

/** How many milliseconds two clocks may differ after a conversion to nanoseconds. */
function near (t: Test, ms: number, expectedMs = NaN): void {
  t.ok(Math.abs(ms - expectedMs) < 0.01, `${ms} ms and ${expectedMs} ms`)
}
