import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { toJsonReply } from '../../lib/core/reply.ts'
import { Secret } from '../../lib/core/secret.ts'
import { createLog } from '../../lib/log/log.ts'
import { openCallTracer, type CallTracer } from '../../lib/telemetry/call-tracer.ts'
import { collectAll } from '../support/collect-young.ts'
import { collector, resourceOf, type Collector, type SeenSpan } from '../support/collector.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream, type Script } from '../support/upstream.ts'
import { route } from '../support/routes.ts'
import { otlpSettings } from '../support/settings.ts'
import { receivedCall } from '../support/stages.ts'
import { settles, until } from '../support/until.ts'
import type { Call } from '../../lib/core/call.ts'
import type { OtlpSettings, Settings } from '../../lib/core/settings.ts'
import { fillRecord } from '../support/fill-record.ts'

const path = '/v1/chat/completions'
const hello = { messages: 'hi', model: 'one/m' }

interface Traced {
  readonly api: TestGateway
  readonly calls: Call[]
}

async function traced (
  t: Test,
  endpoint: string,
  script: Script,
  parts: Partial<Settings> = {},
  otlp: Partial<OtlpSettings> = {}
): Promise<Traced> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const calls: Call[] = []
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'one', 'openai-compatible')],
    telemetry: { maxSampledPerSecond: 100, otlp: otlpSettings(endpoint, otlp) },
    ...parts
  }, {}, { observers: [call => calls.push(call)] })
  return { api, calls }
}

/** Closes the gateway, which sends its queued spans. */
async function sentSpans ({ gateway }: TestGateway, { spans }: Collector): Promise<SeenSpan[]> {
  await gateway.close()
  return spans()
}

const fine: Script = { pieces: [chatAnswer('one')] }

for (const [kind, body, script] of [
  ['complete', {}, fine],
  ['streamed', { stream: true }, { headers: eventStream, pieces: chatFrames(['one', 'two']) }]
] as const) {
  t.test(
    `a ${kind} call is a span with its provider request as a child, at the recorded times`,
    async t => {
      const seen = await collector(t)
      const { api, calls } = await traced(t, seen.url, script)
      await (await api.post(path, { ...hello, ...body })).text()
      await until(() => calls.length === 1, 'the end of the call')
      const spans = await sentSpans(api, seen)
      const request = spans.find(({ kind }) => kind === 3)
      const server = spans.find(({ kind }) => kind === 2)
      t.equal(spans.length, 2)
      t.match(server, { name: `POST ${path}`, parentSpanId: undefined, failed: false })
      t.match(request, {
        name: 'chat m',
        parentSpanId: server?.spanId,
        traceId: server?.traceId,
        failed: false
      })
      t.match(server?.attributes, { 'headgate.key.name': 'test', 'http.response.status_code': 200 })
      t.equal(request?.attributes['gen_ai.provider.name'], 'openai-compatible')

      const record = calls[0]?.record
      const sent = record?.routing.attempts?.[0]
      t.equal(request?.attributes['gen_ai.usage.input_tokens'], record?.usage.total?.promptTokens)
      const length = (from?: number, to?: number): number =>
        Math.round(((to ?? NaN) - (from ?? NaN)) * 100) / 100
      t.equal(
        length(request?.startMs, request?.endMs).toFixed(0),
        length(sent?.startedAtMs, sent?.endedAtMs).toFixed(0)
      )
      t.ok(
        (request?.startMs ?? 0) >= (server?.startMs ?? Infinity) &&
          (request?.endMs ?? Infinity) <= (server?.endMs ?? 0),
        'within the call'
      )
      t.ok(Math.abs((server?.endMs ?? 0) - Date.now()) < 60_000, 'by the clock of the wall')
      t.equal(
        server?.events.filter(({ name }) => name === 'headgate.first_output').length,
        kind === 'streamed' ? 1 : 0
      )
    }
  )
}

t.test(
  'a slow request and its hedge have a span each, with their own end',
  async t => {
    const seen = await collector(t)
    const two = await fakeUpstream(fine)
    t.teardown(two.close)
    const one = await fakeUpstream({ silent: true })
    t.teardown(one.close)
    const { api } = await traced(t, seen.url, fine, {
      providers: [
        upstreamAt(`${one.url}/v1`, 'one', 'openai-compatible'),
        upstreamAt(`${two.url}/v1`, 'two', 'groq')
      ],
      routes: [{ name: 'quick', models: ['one/m', 'two/m'], hedgeAfterMs: 20 }]
    })
    t.equal((await api.post(path, { ...hello, model: 'quick' })).status, 200)
    const [server, slow, quick, ...more] = (await sentSpans(api, seen)).toSorted(
      (a, b) => a.startMs - b.startMs
    )
    t.same(more, [])
    t.match(server?.attributes, {
      'headgate.hedges': 1,
      'headgate.failed_attempts': ['one/m: slower'],
      'headgate.model': 'two/m'
    })
    t.match(slow, { failed: false, attributes: { 'error.type': 'slower', 'headgate.provider': 'one' } })
    t.match(quick, { failed: false, attributes: { 'gen_ai.provider.name': 'groq' } })
    t.notOk('error.type' in (quick?.attributes ?? {}))
  }
)

t.test('a caller who disconnects ends the spans of the call and its request', async t => {
  const seen = await collector(t)
  const { api, calls } = await traced(t, seen.url, {
    headers: eventStream,
    pieces: chatFrames(['one']).slice(0, 2),
    then: 'stall'
  })
  const leaving = new AbortController()
  const response = await api.post(path, { ...hello, stream: true }, { signal: leaving.signal })
  await response.body?.getReader().read()
  leaving.abort()
  await until(() => calls.length === 1, 'the end of the call')
  const spans = await sentSpans(api, seen)
  t.match(
    spans.find(({ kind }) => kind === 2),
    { failed: false, attributes: { 'http.response.status_code': 499, 'headgate.outcome': 'client_closed' } }
  )
  const sent = calls[0]?.record.routing.attempts?.[0]
  t.ok((sent?.endedAtMs ?? 0) >= (sent?.outcomeAtMs ?? Infinity))
})

t.test('a refused call is a single span', async t => {
  const seen = await collector(t)
  const { api } = await traced(t, seen.url, fine)
  t.equal((await api.post(path, hello, { headers: { authorization: 'Bearer wrong' } })).status, 401)
  const spans = await sentSpans(api, seen)
  t.match(spans, [
    {
      name: `POST ${path}`,
      failed: false,
      attributes: { 'http.response.status_code': 401, 'error.type': 'invalid_api_key' }
    }
  ])
  t.equal(spans.length, 1)
})

t.test('headers and service attributes are sent, and no header is logged', async t => {
  const seen = await collector(t)
  const { api } = await traced(
    t,
    seen.url,
    fine,
    {},
    { headers: { authorization: new Secret('Basic canary') } }
  )
  await (await api.post(path, hello)).text()
  await sentSpans(api, seen)
  const [request] = seen.requests
  t.equal(request?.path, '/v1/traces')
  t.equal(request?.headers.authorization, 'Basic canary')
  t.match(request === undefined ? {} : resourceOf(request), {
    'service.name': 'headgate',
    'service.version': /^\d/,
    'service.instance.id': /:\d+$/
  })
  t.notMatch(JSON.stringify(api.lines), /canary/)
})

t.test('spans are sent as protobuf by default', async t => {
  const seen = await collector(t)
  const { api } = await traced(t, seen.url, fine, {}, { protocol: 'http/protobuf' })
  await (await api.post(path, hello)).text()
  await api.gateway.close()
  t.equal(seen.requests[0]?.headers['content-type'], 'application/x-protobuf')
  t.ok(seen.requests[0]?.bytes.includes('gen_ai.request.model'))
})

t.test('an unsampled call sends nothing', async t => {
  const seen = await collector(t)
  const { api } = await traced(t, seen.url, fine, {}, { sample: 0 })
  t.equal((await api.post(path, hello)).status, 200)
  t.same(await sentSpans(api, seen), [])
  t.equal(seen.requests.length, 0)
})

t.test(
  'a failing collector disturbs no call, and lost spans are counted and logged once',
  async t => {
    const seen = await collector(t, { status: 400, pieces: ['{}'] })
    const { api } = await traced(t, seen.url, fine)
    for (let number = 0; number < 3; number++) t.equal((await api.post(path, hello)).status, 200)
    await api.gateway.close()
    t.equal(api.gateway.load().spansDropped, 6)
    t.equal(
      api.lines.filter(
        ({ msg }) => msg === 'spans were dropped: the queue was full, or the collector refused them'
      ).length,
      1
    )
  }
)

t.test("spans have the flags of the caller's trace", async t => {
  const seen = await collector(t)
  const { api } = await traced(t, seen.url, fine)
  for (const flags of ['01', '03']) {
    const traceparent = `00-${flags.repeat(16)}-00f067aa0ba902b7-${flags}`
    t.equal((await api.post(path, hello, { headers: { traceparent } })).status, 200)
  }
  const spans = await sentSpans(api, seen)
  t.strictSame(
    spans.map(({ traceId, flags }) => `${traceId.slice(0, 2)} ${flags}`).toSorted(),
    ['01 1', '01 1', '03 3', '03 3']
  )
})

t.test('a full queue drops new spans, and an unresponsive collector does not delay a shutdown', async t => {
  const seen = await collector(t, { silent: true })
  const { api, calls } = await traced(t, seen.url, fine, {}, { maxQueuedSpans: 3 })
  for (let round = 1; round <= 10; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, async () => await api.post(path, hello)))
    t.same([...new Set(answers.map(({ status }) => status))], [200])
    await until(() => calls.length === 50 * round, 'the ends of the calls')
  }
  t.equal(api.gateway.load().spansDropped, 1000 - 3, 'two spans a call, and room for three')
  await settles(api.gateway.close(), 'the stop')
})

const content: OtlpSettings['content'] = {
  projects: ['*'],
  maxBytes: 8192,
  redact: { fields: [], patterns: [] }
}

for (const [what, parts] of [
  ['spans', {}],
  ['spans with texts', { content }]
] as const) {
  t.test(`memory for ${what} is bounded while no collector answers, however many calls end`, async t => {
    const seen = await collector(t, { silent: true })
    const room = 100
    const lines: string[] = []
    const log = createLog('info', { write: line => { lines.push(line) } })
    const tracer = openCallTracer(otlpSettings(seen.url, { ...parts, maxQueuedSpans: room }), {
      log,
      maxSampledPerSecond: 1
    })
    let ended = 0
    const endCalls = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) {
        for (let number = 0; number < 100; number++) {
          tracer.observe(endedCall(++ended, tracer), undefined, () => 'groq')
        }
        await setImmediate()
      }
    }
    await endCalls(10)
    const before = heapBytes()
    await endCalls(50)
    // 10,000 queued spans take twice as much without their texts; leftovers of others are freed in a few
    // turns
    await until(() => heapBytes() - before < 4 * 1024 * 1024, 'the memory of the spans that were dropped')
    t.ok(tracer.dropped >= 2 * ended - room && tracer.dropped <= 2 * ended, `dropped ${tracer.dropped}`)
    t.equal(lines.length, 1)
    await tracer.close()
    t.equal(tracer.dropped, 2 * ended)
  })
}

function heapBytes (): number {
  collectAll()
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
}

/** Returns a call with one provider request, and a text that no other call has. */
function endedCall (number: number, { begin, captureContent }: CallTracer): Call {
  const call = receivedCall({ receivedAtMs: performance.now() })
  const startedAtMs = performance.now()
  const request = {
    route: route('one/m'),
    startedAtMs,
    outcomeAtMs: startedAtMs,
    endedAtMs: startedAtMs,
    reason: undefined,
    status: undefined
  }
  fillRecord(call.record, { trace: begin({}), routing: { attempts: [request] } })
  const bodies = captureContent?.([], undefined)?.({ id: 'key', name: 'key' }, 'chat')
  bodies?.takeRequest([
    Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: `${number} `.repeat(20_000) }] }))
  ])
  bodies?.watch(toJsonReply({}))
  call.record.bodies = bodies
  return call
}

t.test('without the setting nothing is sent, and nothing is counted', async t => {
  const { gateway } = await testGateway(t)
  t.notOk('spansDropped' in gateway.load())
})
