import t from 'tap'
import { CallRecord, type RecordedAttempt } from '../../lib/core/record.ts'
import { noteUsage } from '../../lib/core/usage-facts.ts'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import {
  callSpans,
  contentAttributes,
  addAttributes,
  type CallSpans
} from '../../lib/telemetry/call-spans.ts'
import { providerKinds } from '../../schemas/providers.ts'
import { route } from '../support/routes.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

const [a, b] = [route('one/a'), route('two/b')]

function spansOf (parts: RecordParts, row?: UsageRow): CallSpans {
  const record = fillRecord(
    new CallRecord('chat'),
    { request: { method: 'POST', path: '/v1/chat/completions' } },
    parts
  )
  return callSpans({ id: 'call-1', headers: {}, record, receivedAtMs: 100 }, row, 500, id =>
    id === 'one' ? 'anthropic' : undefined
  )
}

function sent (parts: Partial<RecordedAttempt>): RecordedAttempt {
  return {
    route: a,
    startedAtMs: 110,
    outcomeAtMs: 150,
    endedAtMs: 490,
    reason: undefined,
    status: undefined,
    ...parts
  }
}

const present = (attributes: object): object => JSON.parse(JSON.stringify(attributes)) as object

t.test('the span of a call has its route, key, usage and cost', async t => {
  const row = usageRowOf(1, {
    prompt_tokens: 3,
    completion_tokens: 4,
    cost_nano_usd: 2_500_000,
    estimated: 0
  })
  const findings = new GuardFindings()
  findings.noteInspection('pii', 'request', 2)
  findings.note('pii', 'request', 'mask', 3)
  const { server, children } = spansOf(
    {
      caller: {
        keyId: 'key-1',
        keyName: 'ci',
        projectName: 'Support',
        session: 's-1',
        endUser: 'ann',
        tags: ['a', 'b'],
        metadata: { run: '1' }
      },
      request: { target: '/v1/chat/completions?key=secret', usesTls: true, requestedModel: 'smart' },
      routing: { modelId: 'one/a', providerId: 'one', requestCount: 1, cache: 'miss' },
      end: { status: 200, outcome: 'ok' },
      times: { firstByteMs: 50, overheadMs: 1, upstreamWaitMs: 40 },
      guards: { findings }
    },
    row
  )
  t.match(children, [
    {
      name: 'stage pii',
      kind: 'internal',
      attributes: {
        'headgate.stage.findings': ['mask 3'],
        'headgate.stage.inspections': 1,
        'headgate.stage.inspection_ms': 2
      }
    }
  ])
  t.match(server, {
    name: 'POST /v1/chat/completions', kind: 'server', startedAtMs: 100, endedAtMs: 500, hasFailed: false,
    events: [{ name: 'headgate.first_output', atMs: 150 }]
  })
  t.strictSame(present(server.attributes), {
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'url.path': '/v1/chat/completions',
    'url.scheme': 'https',
    'http.response.status_code': 200,
    'gen_ai.conversation.id': 's-1',
    'session.id': 's-1',
    'user.id': 'ann',
    'headgate.tags': ['a', 'b'],
    'headgate.metadata': '{"run":"1"}',
    'headgate.call.id': 'call-1',
    'headgate.endpoint': 'chat',
    'headgate.key.id': 'key-1',
    'headgate.key.name': 'ci',
    'headgate.project.name': 'Support',
    'headgate.requested_model': 'smart',
    'headgate.model': 'one/a',
    'headgate.provider': 'one',
    'headgate.outcome': 'ok',
    'headgate.attempts': 1,
    'headgate.cache': 'miss',
    'headgate.findings': ['pii request mask 3'],
    'headgate.overhead_ms': 1,
    'headgate.upstream_wait_ms': 40,
    'headgate.usage.input_tokens': 3,
    'headgate.usage.output_tokens': 4,
    'headgate.usage.estimated': false,
    'headgate.cost_usd': 0.0025
  })
})

t.test(
  'a provider request has the attributes of the conventions, and ends with its answer',
  async t => {
    const record = new CallRecord('chat')
    noteUsage(
      record.usage,
      {
        promptTokens: 9,
        completionTokens: 4,
        totalTokens: 13,
        cachedTokens: 5,
        cacheWriteTokens: 2,
        reasoningTokens: 1
      },
      undefined
    )
    const { usage: { answers: answerUsages } } = record
    const {
      children: [child]
    } = spansOf(
      {
        request: { isStreamed: true },
        caller: { session: 's-1' },
        routing: { chosen: a, upstreamRequestId: 'req-1', attempts: [sent({})] },
        usage: { answers: answerUsages }
      },
      usageRowOf(1, { cost_nano_usd: 1e9 })
    )
    t.match(child, {
      name: 'chat a',
      kind: 'client',
      startedAtMs: 110,
      endedAtMs: 490,
      hasFailed: false,
      events: [{ name: 'headgate.first_output', atMs: 150 }]
    })
    t.strictSame(present(child?.attributes ?? {}), {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'a',
      'gen_ai.request.stream': true,
      'gen_ai.conversation.id': 's-1',
      'gen_ai.response.time_to_first_chunk': 0.04,
      'gen_ai.usage.input_tokens': 9,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.usage.cache_read.input_tokens': 5,
      'gen_ai.usage.cache_write.input_tokens': 2,
      'gen_ai.usage.reasoning.output_tokens': 1,
      'gen_ai.usage.cost': 1,
      'headgate.provider': 'one',
      'headgate.model': 'one/a',
      'headgate.upstream_request_id': 'req-1'
    })
  }
)

t.test('unanswered requests end when they failed, and only failures are errors', async t => {
  const { children } = spansOf({
    routing: { chosen: a, attempts: [
      sent({
        route: b,
        startedAtMs: 101,
        outcomeAtMs: 120,
        endedAtMs: undefined,
        reason: 'upstream_error',
        status: 500
      }),
      sent({ route: b, startedAtMs: 102, outcomeAtMs: 150, endedAtMs: undefined, reason: 'slower' }),
      sent({ startedAtMs: 103, endedAtMs: undefined }),
      sent({ startedAtMs: 104, outcomeAtMs: undefined, endedAtMs: undefined })
    ] }
  })
  t.same(
    children.map(({ endedAtMs, hasFailed: failed }) => [endedAtMs, failed]),
    [
      [120, true],
      [150, false],
      [500, false],
      [500, false]
    ]
  )
  t.match(children[0]?.attributes, {
    'error.type': 'upstream_error', 'http.response.status_code': 500, 'gen_ai.provider.name': 'two'
  })
})

t.test('each turn has its own usage, and tools come between the turns', async t => {
  const record = new CallRecord('chat')
  const first = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  noteUsage(record.usage, first, undefined)
  noteUsage(record.usage, { promptTokens: 10, completionTokens: 20, totalTokens: 30 }, first)
  const run = { serverName: 'org/tools', toolName: 'echo', startedAtMs: 200, endedAtMs: 210 }
  const { children } = spansOf(
    {
      usage: { answers: record.usage.answers },
      routing: { attempts: [sent({ endedAtMs: 190 }), sent({ startedAtMs: 300 })] },
      tools: { runs: [
        { ...run, outcome: 'ok' },
        { ...run, startedAtMs: 201, outcome: 'tool_error' }
      ] }
    },
    usageRowOf(1, { cost_nano_usd: 1e9 })
  )
  t.same(
    children.map(({ name }) => name),
    ['chat a', 'tools/call echo', 'tools/call echo', 'chat a']
  )
  t.same(
    children.map(({ attributes }) => attributes['gen_ai.usage.input_tokens']),
    [1, undefined, undefined, 10]
  )
  t.same(
    children.map(({ attributes }) => attributes['gen_ai.usage.cost']),
    [undefined, undefined, undefined, undefined],
    'no share of the cost is made up'
  )
  t.strictSame(present(children[2] ?? {}), {
    name: 'tools/call echo',
    kind: 'client',
    startedAtMs: 201,
    endedAtMs: 210,
    hasFailed: true,
    events: [],
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
      'error.type': 'tool_error',
      'headgate.tool_server': 'org/tools'
    }
  })
})

t.test('usage that belongs to no single answer is only on the span of the call', async t => {
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  const { server, children } = spansOf({
    usage: { total: usage, answers: [{ earlier: undefined, usage }] },
    routing: { attempts: [sent({}), sent({})] }
  })
  t.same(
    children.map(({ attributes }) => attributes['gen_ai.usage.input_tokens']),
    [undefined, undefined]
  )
  t.equal(server.attributes['headgate.usage.input_tokens'], 1)
})

for (const [title, end, failed] of [
  ['an error of the gateway', { outcome: 'error', status: 502 }, true],
  ['an answer that broke off', { outcome: 'error', status: 200 }, true],
  ['a request that was refused', { outcome: 'error', status: 401 }, false],
  ['a caller who left', { outcome: 'client_closed', status: 499 }, false]
] as const) {
  t.test(`${title} ${failed ? 'is a' : 'is no'} failed span`, async t => {
    t.equal(spansOf({ end }).server.hasFailed, failed)
  })
}

t.test('every kind of provider has a name, and other endpoints have their name as the operation', async t => {
  for (const kind of providerKinds) {
    const record = fillRecord(new CallRecord('speech'), { routing: { attempts: [sent({})] } })
    const {
      children: [child]
    } = callSpans({ id: '', headers: {}, record, receivedAtMs: 0 }, undefined, 1, () => kind)
    t.match(
      child?.attributes,
      { 'gen_ai.provider.name': /^[a-z_.-]+$/, 'gen_ai.operation.name': 'speech' },
      kind
    )
  }
})

t.test('long names are cut', async t => {
  const long = 'n'.repeat(5000)
  const { server, children } = spansOf({
    caller: { session: long },
    request: { requestedModel: long },
    routing: { attempts: [sent({ route: { ...a, model: long, modelId: long } })] }
  })
  for (const { name, attributes } of [server, ...children]) {
    t.ok(name.length < 300)
    for (const value of Object.values(attributes)) t.ok(String(value).length <= 256)
  }
})

t.test('a wait between key check and first request is an event', async t => {
  t.strictSame(spansOf({ times: { keyCheckedAtMs: 101 }, routing: { attempts: [sent({})] } }).server.events, [
    { name: 'headgate.wait', atMs: 101, attributes: { 'headgate.wait_ms': 9 } }
  ])
  t.strictSame(spansOf({
    times: { keyCheckedAtMs: 109.5 },
    routing: { attempts: [sent({})] }
  }).server.events, [])
  t.strictSame(spansOf({ times: { keyCheckedAtMs: 101 } }).server.events, [])
})

t.test('a guard that could not inspect has a failed span', async t => {
  const findings = new GuardFindings()
  findings.noteInspection('pii', 'request', 2)
  findings.note('pii', 'request', 'unavailable')
  t.match(spansOf({ guards: { findings } }).children, [
    {
      name: 'stage pii',
      hasFailed: true,
      attributes: { 'error.type': 'unavailable', 'headgate.stage.findings': ['unavailable 1'] }
    }
  ])
})

t.test('texts of a call are on the attempt that answered, else on the span of the call', async t => {
  const content = { system: [], input: [{ role: 'user', parts: [] }], output: [], isTruncated: true }
  const added = {
    'gen_ai.input.messages': '[{"role":"user","parts":[]}]',
    'headgate.content_truncated': true
  }
  const places = (requests: RecordedAttempt[]): boolean[] => {
    const { server, children } = spansOf({ routing: { attempts: requests } })
    addAttributes({ server, children }, content, (_, texts) =>
      texts === undefined ? {} : contentAttributes(texts)
    )
    return [server, ...children].map(({ attributes }) => {
      const found = Object.fromEntries(
        Object.entries(present(attributes)).filter(([name]) =>
          /messages|content|system_instructions/.test(name)
        )
      )
      return Object.keys(found).length > 0 && t.strictSame(found, added)
    })
  }
  t.strictSame(places([sent({ reason: 'upstream_error' }), sent({})]), [false, false, true])
  t.strictSame(places([sent({}), sent({})]), [true, false, false])
  t.strictSame(places([]), [true])
})

t.test('the path is that of the request target, even if that is a full URL', async t => {
  for (const [target, path] of [
    ['/v1/models?key=secret', '/v1/models'],
    ['http://ann:secret@gateway.test:8080/v1/models?key=secret', '/v1/models'],
    ['http://gateway.test?key=secret', '/'],
    ['/v1/files/a://b/c', '/v1/files/a://b/c']
  ] as const) {
    t.equal(spansOf({ request: { target } }).server.attributes['url.path'], path, target)
  }
})

t.test("behind a proxy that terminates TLS, the scheme is the client's", async t => {
  const record = fillRecord(new CallRecord('chat'), { request: { target: '/v1/models' } })
  const call = { id: '', headers: { 'x-forwarded-proto': 'https' }, record, receivedAtMs: 0 }
  const schemeOf = (trustProxy: boolean): unknown =>
    callSpans(call, undefined, 1, () => undefined, trustProxy).server.attributes['url.scheme']
  t.equal(schemeOf(true), 'https')
  t.equal(schemeOf(false), 'http')
})
