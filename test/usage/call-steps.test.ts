/** Checks the recorded steps of real calls over sockets. */

import t, { type Test } from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { printSteps, readSteps, type CallSteps } from '../../lib/usage/call-steps.ts'
import { timelineOf } from '../../lib/usage/call-timeline.ts'
import { adminGateway, type AdminGateway, type Person } from '../support/admin.ts'
import { upstreamAt } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { usageRowOf } from '../support/usage.ts'
import { until } from '../support/until.ts'
import { fakeUpstream } from '../support/upstream.ts'
import type { CallDetail } from '../../schemas/admin/calls.ts'
import { fillRecord } from '../support/fill-record.ts'

interface Place extends AdminGateway {
  readonly owner: Person
  /** Calls chat completions, and returns the call as shown by the admin API. */
  readonly callAndFind: (body: Readonly<Record<string, unknown>>) => Promise<CallDetail>
}

async function start (
  t: Test,
  parts: Parameters<typeof adminGateway>[1],
  limits: Readonly<Record<string, number>> = {}
): Promise<Place> {
  const place = await adminGateway(t, parts)
  const owner = await place.user('owner')
  const { secret } = (await owner.send('POST /admin/v1/keys', { name: 'mine', limits })).body
  const callAndFind: Place['callAndFind'] = async body => {
    const response = await place.api.post('/v1/chat/completions', body, {
      headers: { authorization: `Bearer ${secret}` }
    })
    await response.text()
    const id = response.headers.get('x-request-id') ?? ''
    const records = place.database.query.selectFrom('usage').select('id').where('call_id', '=', id)
    await until(async () => (await records.execute()).length > 0, 'the record of the call', 20_000)
    return (await owner.send(`GET /admin/v1/calls/${id}`)).body
  }
  return { ...place, owner, callAndFind }
}

const sandbox = { ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }
const eventsOf = ({ timeline }: CallDetail): string[] => timeline.map(({ event }) => event)

t.test('a failed attempt is followed by the successful one', async t => {
  const upstream = await fakeUpstream({
    status: 529,
    pieces: ['{"error":{"message":"my secret prompt","type":"overloaded"}}']
  })
  t.teardown(upstream.close)
  const { callAndFind } = await start(t, {
    providers: [upstreamAt(upstream.url, 'first', 'vllm'), sandbox],
    routes: [{ name: 'both', models: ['first/model', 'sandbox/echo'] }]
  })
  const call = await callAndFind({ model: 'both', messages: 'hi', stream: true })
  t.same(
    eventsOf(call).filter(event => event !== 'wait'),
    ['received', 'auth', 'attempt_failed', 'attempt', 'first_byte', 'end']
  )
  const failed = call.timeline.find(({ event }) => event === 'attempt_failed')
  t.match(failed, {
    model: 'first/model',
    provider: 'first',
    status: 529,
    reason: /^upstream_/,
    after_ms: Number,
    duration_ms: Number
  })
  t.match(
    call.timeline.find(({ event }) => event === 'attempt'),
    { model: 'sandbox/echo', reason: null, status: null, duration_ms: Number }
  )
  t.same(call.candidates, [
    { model: 'first/model', provider: 'first', reason: 'first_choice' },
    { model: 'sandbox/echo', provider: 'sandbox', reason: 'next_choice' }
  ])
  t.match(call, { overhead_ms: Number, upstream_wait_ms: Number, attempts: 2 })
  t.notMatch(JSON.stringify(call), 'my secret prompt')
})

t.test('tools are listed with their servers, durations and outcomes', async t => {
  const server = await startToolServer(t)
  const { callAndFind } = await start(t, {
    providers: [sandbox],
    tools: { ...settings().tools, connectMs: 20_000, callMs: 20_000, allowedHosts: ['127.0.0.1'] }
  })
  const mine = { url: server.url, name: 'mine', allowed_tools: ['echo', 'fail'] }
  const call = await callAndFind({
    model: 'sandbox/echo',
    messages: 'Use echo and fail. [sandbox: rounds=1]',
    mcp_servers: [mine]
  })
  const tools = call.timeline.filter(({ event }) => event === 'tool_call')
  t.same(Object.fromEntries(tools.map(({ tool, server, reason }) => [tool, [server, reason]])), {
    echo: ['mine', null],
    fail: ['mine', 'tool_error']
  })
  t.ok(
    tools.every(
      ({ after_ms: afterMs, duration_ms: durationMs }) => Number(afterMs) >= 0 && durationMs !== null
    )
  )
  t.equal(eventsOf(call).filter(event => event === 'attempt').length, 2, 'a request for each turn')
  t.equal(call.turns, 2)
})

t.test('a refused call names its limit', async t => {
  const { callAndFind } = await start(t, { providers: [sandbox] }, { requests_per_minute: 1 })
  const unknown = await callAndFind({ model: 'nothing/known', messages: 'hi' })
  t.match(
    unknown.timeline.filter(({ event }) => event !== 'auth'),
    [{ event: 'received' }, { event: 'end', reason: 'model_not_found' }]
  )
  t.match(unknown, { error_code: 'model_not_found', error_message: /nothing\/known/, first_byte_ms: null })
  await callAndFind({ model: 'sandbox/echo', messages: 'hi' })
  const refused = await callAndFind({ model: 'sandbox/echo', messages: 'hi' })
  t.match(refused, { status: 429, candidates: [], error_message: /\w{3,}/, first_byte_ms: null })
  t.match(refused.timeline, [
    { event: 'received' },
    { event: 'auth' },
    { event: 'refused', reason: 'requests' },
    { event: 'end', reason: 'rate_limit_exceeded' }
  ])
})

t.test("an error shows the caller's message, cut, or the default message of its code", async t => {
  const upstream = await fakeUpstream({
    status: 400,
    pieces: [
      JSON.stringify({
        error: {
          message: `Unknown parameter: frobnicate.${' more'.repeat(200)}`,
          type: 'invalid_request_error'
        }
      })
    ]
  })
  t.teardown(upstream.close)
  const { callAndFind, database, owner } = await start(t, {
    providers: [upstreamAt(upstream.url, 'first', 'vllm')]
  })
  const call = await callAndFind({ model: 'first/model', messages: 'hi', stream: true })
  t.match(call, {
    error_code: 'upstream_invalid_request',
    first_byte_ms: null,
    error_message: /^Unknown parameter: frobnicate\./
  })
  t.equal(call.error_message?.length, 200)
  await database.insertUsage([
    usageRowOf(1, {
      call_id: 'of-before',
      outcome: 'error',
      error_code: 'upstream_timeout',
      at_ms: Date.now()
    })
  ])
  t.match((await owner.send('GET /admin/v1/calls/of-before')).body, {
    error_message: 'The provider did not answer in time.'
  })
})

t.test('a broken answer is a failed attempt', async t => {
  const piece = `data: ${JSON.stringify({
    choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }]
  })}\n\n`
  const upstream = await fakeUpstream({
    headers: { 'content-type': 'text/event-stream' },
    pieces: [piece],
    then: 'end'
  })
  t.teardown(upstream.close)
  const { callAndFind } = await start(t, { providers: [upstreamAt(upstream.url, 'first', 'vllm')] })
  const call = await callAndFind({ model: 'first/model', messages: 'hi', stream: true })
  t.match(
    call.timeline.find(({ event }) => event === 'attempt_failed'),
    { model: 'first/model', reason: 'upstream_stream_interrupted' }
  )
  t.match(call, { error_code: 'upstream_stream_interrupted', first_byte_ms: Number })
})

t.test('a plain call has no steps to store', t => {
  const route = { providerId: 'p', model: 'm', modelId: 'p/m' }
  const sentAt = (startedAtMs: number): CallRecord =>
    fillRecord(new CallRecord('chat'), {
      times: { keyCheckedAtMs: 1 },
      routing: { routes: [route], attempts: [
        {
          route,
          startedAtMs,
          outcomeAtMs: startedAtMs + 100,
          endedAtMs: startedAtMs + 100,
          reason: undefined,
          status: undefined
        }
      ] }
    })
  t.equal(printSteps(sentAt(2), 0), null)
  const row = {
    model: 'p/m',
    provider: 'p',
    attempts: 1,
    first_byte_ms: 100,
    duration_ms: 200,
    error_code: null,
    findings: null
  }
  t.same(
    timelineOf({ ...row, steps: null }, {}).map(({ event, after_ms: afterMs }) => [event, afterMs]),
    [
      ['received', 0],
      ['attempt', null],
      ['first_byte', 100],
      ['end', 200]
    ]
  )
  const steps = printSteps(sentAt(400), 0)
  t.same(
    timelineOf({ ...row, steps }, readSteps({ steps })).map(
      ({ event, after_ms: afterMs, duration_ms: durationMs }) => [event, afterMs, durationMs]
    ),
    [
      ['received', 0, null],
      ['auth', 1, null],
      ['wait', 1, 399],
      ['first_byte', 100, null],
      ['attempt', 400, 100],
      ['end', 200, null]
    ],
    'one that waited has'
  )
  t.end()
})

t.test('the steps of a long call are limited', t => {
  const long = 'n'.repeat(10_000)
  const route = { providerId: 'p', model: long, modelId: `p/${long}` }
  const times = { startedAtMs: 1, endedAtMs: 2.25 }
  const record = fillRecord(new CallRecord('chat'), {
    routing: {
      attempts: Array.from({ length: 1000 }, () => ({
        route,
        startedAtMs: 1,
        outcomeAtMs: 2.25,
        endedAtMs: undefined,
        reason: 'upstream_error',
        status: 500
      })),
      unusedRoutes: Array.from({ length: 1000 }, () => ({ route: { ...route }, reason: long })),
      routes: Array.from({ length: 1000 }, () => route),
      upstreamRequestId: long
    },
    tools: {
      runs: Array.from({ length: 1000 }, () => ({
        serverName: long,
        toolName: long,
        ...times,
        outcome: 'ok'
      }))
    }
  })
  const text = printSteps(record, 0) ?? ''
  t.ok(text.length < 40_000)
  const steps = JSON.parse(text) as CallSteps
  t.same(
    [steps.requests?.length, steps.tools?.length, steps.candidates?.length, steps.skipped?.length],
    [16, 32, 8, 8]
  )
  t.match(steps.tools?.[0], { at_ms: 1, took_ms: 1.3, outcome: 'ok' })
  t.end()
})
