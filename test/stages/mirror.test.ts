/** Routes whose calls are also sent to another model, with a real gateway. */

import t, { type Test } from 'tap'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  toolCallAnswer,
  type FakeUpstream,
  type Script
} from '../support/upstream.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { outlast, until } from '../support/until.ts'
import { mirror } from '../../lib/stages/mirror.ts'
import { Mirrors } from '../../lib/deferred/mirrors.ts'
import { collect, route, routedCall } from '../support/stages.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const fine: Script = { pieces: [chatAnswer('fine')] }
const price = { input: 1, output: 1, asOf: '2026-01-01' }

interface Mirrored {
  readonly api: TestGateway
  readonly one: FakeUpstream
  readonly other: FakeUpstream
  readonly rows: UsageRow[]
  /** Waits for the record of a mirrored call. */
  readonly mirrored: (count?: number) => Promise<UsageRow | undefined>
}

/** A route whose calls are all mirrored to another model. */
async function start (
  t: Test,
  scripts: { one?: Parameters<typeof fakeUpstream>[0], other?: Script } = {},
  keys: Record<string, ApiKey> = {},
  more: Partial<GatewayOptions> = {}
): Promise<Mirrored> {
  const one = await fakeUpstream(scripts.one ?? fine)
  const other = await fakeUpstream(scripts.other ?? fine)
  t.teardown(one.close)
  t.teardown(other.close)
  const rows: UsageRow[] = []
  const api = await testGateway(
    t,
    {
      providers: [['one', one] as const, ['other', other] as const].map(([id, { url }]) =>
        upstreamAt(`${url}/v1`, id, 'openai-compatible', { retries: 3 })
      ),
      models: ['one/m', 'other/m'].map(id => ({ id, hidden: false, price })),
      routes: [{ name: 'shared', models: ['one/m'], mirror: { model: 'other/m', share: 1, maxInFlight: 2 } }],
      tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] },
      deferred: { forAllProviders: true, keepMs: 86_400_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
    },
    keys,
    {
      ...more,
      observers: [
        (_call, row) => {
          if (row !== undefined) rows.push(row)
        }
      ]
    }
  )
  const found = (): UsageRow[] => rows.filter(({ endpoint }) => endpoint === 'mirror')
  return {
    api,
    one,
    other,
    rows,
    mirrored: async (count = 1) => {
      await until(() => found().length === count, 'the row of a mirrored call')
      return found().at(-1)
    }
  }
}

const path = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'hi' }]

t.test(
  "the other model gets the request after the caller's answer, and its record belongs to no key",
  async t => {
    const { api, other, rows, mirrored } = await start(t)
    const answer = await api.post(path, {
      model: 'shared',
      messages,
      temperature: 0.5,
      metadata: { tags: ['a'] }
    })
    t.match(await answer.json(), { choices: [{ message: { content: 'fine' } }] })
    t.equal(answer.headers.get('x-headgate-attempts') ?? '1', '1')
    t.match(await mirrored(), {
      key_id: 'mirror',
      requested_model: 'shared',
      model: 'other/m',
      outcome: 'ok',
      status: 200,
      attempts: 1,
      tags: null,
      first_byte_ms: null
    })
    t.match(
      other.requests.map(({ json }) => json),
      [{ model: 'm', messages, temperature: 0.5 }]
    )
    const [own, copy] = rows
    t.match(own, { endpoint: 'chat', key_id: 'key-1', model: 'one/m', attempts: 1 })
    t.equal(copy?.call_id, `${own?.call_id}:mirror`, 'both say which call it was')
    t.equal(copy?.prompt_tokens, own?.prompt_tokens)
  }
)

t.test('a streamed call is mirrored as a stream, with its time to first output', async t => {
  const streamed: Script = { headers: eventStream, pieces: chatFrames(['a', 'b'], { usage: true }) }
  const { api, mirrored } = await start(t, { one: streamed, other: streamed })
  await (await api.post(path, { model: 'shared', messages, stream: true })).text()
  const row = await mirrored()
  t.match(row, { streamed: 1, outcome: 'ok' })
  t.type(row?.first_byte_ms, 'number')
})

t.test('calls of every text API are mirrored', async t => {
  const { api, other, mirrored } = await start(t)
  const [user] = messages
  await (await api.post('/v1/messages', { model: 'shared', max_tokens: 5, messages: [user] })).text()
  await mirrored(1)
  await (await api.post('/v1/responses', { model: 'shared', input: [user] })).text()
  await mirrored(2)
  t.match(
    other.requests.map(({ path, json }) => [path, json]),
    [
      [path, { model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 }],
      [path, { model: 'm', messages: [{ role: 'user', content: 'hi' }] }]
    ]
  )
})

t.test('a failing mirror is tried once, and its caller notices nothing', async t => {
  const { api, other, mirrored } = await start(t, { other: { status: 500, pieces: ['{}'] } })
  const answer = await api.post(path, { model: 'shared', messages })
  t.equal(answer.status, 200)
  await answer.text()
  t.match(await mirrored(), { outcome: 'error', error_code: 'upstream_error', attempts: 1 })
  t.equal(other.requests.length, 1)
  t.equal(
    (await (await api.post(path, { model: 'other/m', messages })).text()).includes('upstream_error'),
    true,
    'asked for itself, it is tried as ever'
  )
})

t.test('a mirror changes neither the budget nor the errors of the mirrored calls', async t => {
  const budget = { usd: 1, per: 'total' } as const
  const keys: Record<string, ApiKey> = Object.fromEntries(
    ['plain', 'mirrored'].map(name => [name, { id: name, name, limits: { budget } }])
  )
  const { api, other, rows, mirrored } = await start(
    t,
    {
      one: { pieces: [chatAnswer('fine').replace('"prompt_tokens":3', '"prompt_tokens":1000')] },
      other: { pieces: [chatAnswer('more').replace('"prompt_tokens":3', '"prompt_tokens":9000')] }
    },
    keys
  )
  const call = async (
    key: string,
    model: string,
    body: object = {}
  ): Promise<[status: number, text: string, left: string | null]> => {
    const answer = await api.post(
      path,
      { model, messages, ...body },
      { headers: { authorization: `Bearer ${key}` } }
    )
    return [
      answer.status,
      (await answer.text()).replaceAll(/"(?:id|created)": ?[^,]+/g, ''),
      answer.headers.get('x-headgate-budget-remaining-usd')
    ]
  }
  for (let turn = 1; turn <= 3; turn++) {
    const [plain, copied] = [await call('plain', 'one/m'), await call('mirrored', 'shared')]
    t.same(copied, plain)
    t.ok(Number(copied[2]) < 1)
    t.match(await mirrored(turn), { key_id: 'mirror', cost_nano_usd: 9_001_000 })
  }
  t.same(
    await call('mirrored', 'shared', { temperature: 9 }),
    await call('plain', 'one/m', { temperature: 9 }),
    'an error as well'
  )
  t.equal(other.requests.length, 3, 'what is refused is not copied')
  const costs = (key: string): unknown[] =>
    rows
      .filter(({ key_id: id }) => id === key)
      .map(({ outcome, attempts, cost_nano_usd: cost }) => [outcome, attempts, cost])
  t.same(costs('mirrored'), costs('plain'))
})

t.test(
  'few calls are mirrored at once; waiting ones delay neither callers nor their limits',
  async t => {
    const limited: ApiKey = {
      id: 'key-2',
      name: 'limited',
      limits: { concurrentCalls: 1, budget: { usd: 1 } }
    }
    const { api, other, rows } = await start(t, { other: { silent: true } }, { limited })
    for (let call = 0; call < 5; call++) {
      const answer = await api.post(
        path,
        { model: 'shared', messages },
        { headers: { authorization: 'Bearer limited' } }
      )
      t.equal(answer.status, 200)
      await answer.text()
    }
    t.equal(other.requests.length, 2)
    await api.gateway.close()
    t.same(
      rows
        .filter(({ endpoint }) => endpoint === 'mirror')
        .map(({ key_id: key, error_code: code }) => [key, code]),
      [
        ['mirror', 'shutting_down'],
        ['mirror', 'shutting_down']
      ]
    )
    t.equal(rows.filter(({ key_id: key }) => key === 'key-2').length, 5)
  }
)

t.test('calls ended by a shutdown are not mirrored', async t => {
  const { api, other, rows, one } = await start(t, { one: { silent: true } })
  const answer = api.post(path, { model: 'shared', messages })
  await until(() => one.requests.length === 1, 'the call at its provider')
  await api.gateway.close()
  t.equal((await answer).status, 503)
  t.match(rows, [{ endpoint: 'chat', error_code: 'shutting_down' }])
  t.equal(other.requests.length, 0)
})

t.test('tools are offered but not run', async t => {
  const { api, other, mirrored } = await start(t, { other: { pieces: [toolCallAnswer('look')] } })
  await (
    await api.post(path, {
      model: 'shared',
      messages,
      tools: [{ type: 'function', function: { name: 'look' } }]
    })
  ).text()
  t.match(await mirrored(), { outcome: 'ok', turns: null })
  t.match(
    other.requests.map(({ json }) => json),
    [{ tools: [{ function: { name: 'look' } }] }]
  )
})

t.test('a call with a tool server is not mirrored, so each of its tools runs once', async t => {
  const tools = await startToolServer(t)
  const { api, one, other, rows } = await start(t, {
    one: (_request, number) => ({ pieces: [number === 0 ? toolCallAnswer('counted') : chatAnswer('done')] })
  })
  const answer = await api.post(path, { model: 'shared', messages, mcp_servers: [tools.url] })
  t.match(await answer.json(), { choices: [{ message: { content: 'done' } }] })
  await until(() => rows.length === 1, 'the row of the call')
  await outlast(20)
  t.same([tools.counts['tool counted'], one.requests.length, other.requests.length], [1, 2, 0])
})

const image = {
  role: 'user',
  content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]
}
for (const [what, request, headers] of [
  ['an image', { messages: [image] }, {}],
  ['a spoken answer', { messages, modalities: ['audio'], audio: { voice: 'alloy', format: 'wav' } }, {}],
  ['what its provider is to store', { messages, store: true }, {}],
  [
    'the key of its caller at the provider',
    { messages, model: 'one/m' },
    { 'x-provider-key': 'sk-own', 'x-provider': 'one' }
  ],
  ['more than 256 KB', { messages: [{ role: 'user', content: 'x'.repeat(300_000) }] }, {}]
] as const) {
  t.test(`a call with ${what} is not mirrored`, async t => {
    const { api, other, rows } = await start(t)
    await (await api.post(path, { model: 'shared', ...request }, { headers })).text()
    await until(() => rows.length === 1, 'the row of the call')
    await outlast(20)
    t.equal(other.requests.length, 0)
  })
}

for (const [what, at, request] of [
  ['a deferred completion', path, { messages, deferred: true }],
  ['a response in the background', '/v1/responses', { input: 'hi', background: true }]
] as const) {
  t.test(`${what} is not mirrored`, async t => {
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    const { api, one, other, rows } = await start(t, {}, {}, { database })
    const answer = await api.post(at, { model: 'shared', ...request })
    t.ok(answer.ok, await answer.text())
    await until(() => rows.some(({ provider }) => provider === 'one'), 'the row of the call')
    await outlast(20)
    t.same([one.requests.length, other.requests.length], [1, 0])
  })
}

t.test('a call whose caller disconnects is not mirrored', async t => {
  const { api, other, rows } = await start(t, {
    one: { headers: eventStream, pieces: chatFrames(['a']).slice(0, 2), then: 'stall' }
  })
  const leaving = new AbortController()
  const answer = await api.post(
    path,
    { model: 'shared', messages, stream: true },
    { signal: leaving.signal }
  )
  await answer.body?.getReader().read()
  leaving.abort()
  await until(() => rows.length === 1, 'the row of the call')
  t.equal(rows[0]?.outcome, 'client_closed')
  await outlast(20)
  t.equal(other.requests.length, 0)
})

t.test('a share of the calls is mirrored', async t => {
  const draws = [0, 0.24, 0.25, 0.9]
  const mirrors = new Mirrors()
  const planned = new Set<unknown>()
  mirrors.plan = record => planned.add(record)
  // the parts that are read
  const services = {
    providers: new Map(),
    models: { routes: () => [route] },
    settings: { limits: {} },
    mirrors
  } as never
  const stage = mirror(services, () => true, () => draws.shift() ?? 1)
  const noted: boolean[] = []
  for (let number = 0; number < 4; number++) {
    const request: ChatInput = { model: 'shared', messages: [{ role: 'user', content: 'hi' }] }
    const call = routedCall(request, {
      routes: [{ ...route, mirror: { model: 'other/m', share: 0.25, maxInFlight: 1 } }]
    })
    await collect(stage(once(call)))
    noted.push(planned.has(call.record))
  }
  t.same(noted, [true, true, false, false])
})
