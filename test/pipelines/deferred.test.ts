import { dirname } from 'node:path'
import Dedalus from 'dedalus-labs'
import { sql } from 'kysely'
import OpenAI from 'openai'
import t from 'tap'
import {
  chatAnswer,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings } from '../support/settings.ts'
import { eventually, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import { openDeferrals } from '../../lib/deferred/deferrals.ts'
import { DeferredStore } from '../../lib/deferred/deferred-store.ts'
import { TaskRunner } from '../../lib/deferred/task-runner.ts'
import { digest } from '../../lib/deferred/sealed-tickets.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { SqliteDatabase } from '../../lib/stores/database.ts'
import type { Keys } from '../../lib/keys/keys.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'
const question = { model: 'xai/grok-4.6', messages: 'canary-question', deferred: true }
/** A request whose answer costs up to $0.40 at the price below. */
const longQuestion = { ...question, max_completion_tokens: 40_000 }
const otherKey = 'another key'

interface Place {
  readonly database: SqliteDatabase
  readonly api: TestGateway
}

async function store (t: Test): Promise<SqliteDatabase> {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  return database
}

async function gateway (
  t: Test,
  upstream: FakeUpstream,
  database: SqliteDatabase,
  parts: Partial<Settings> = {},
  provider: Partial<ProviderSettings> = {},
  keys?: Keys
): Promise<TestGateway> {
  return await testGateway(
    t,
    {
      providers: [upstreamAt(upstream.url, 'xai', 'xai', provider), upstreamAt(upstream.url)],
      deferred: { forAllProviders: false, keepMs: 86_400_000, maxPending: 10, maxBytesPerKey: 1_000_000 },
      ...parts
    },
    { [otherKey]: { id: 'key-2', name: 'other' } },
    { database, ...keys !== undefined && { keys } }
  )
}

/** A gateway with a store in front of a scripted provider. */
async function start (
  t: Test,
  script: (request: SeenRequest, number: number) => Script | Promise<Script>,
  parts: Partial<Settings> = {}
): Promise<Place & { upstream: FakeUpstream }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const database = await store(t)
  return { upstream, database, api: await gateway(t, upstream, database, parts) }
}

/** The settings of keys of a provider. */
function keysOf (...names: string[]) {
  return names.map(name => ({ key: new Secret(name), weight: 1 }))
}

const accepted: Script = { pieces: ['{"request_id":"f15c114e-f47d"}'] }

async function json (response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

async function begin (api: TestGateway, more: object = {}): Promise<string> {
  const response = await api.post(path, { ...question, ...more })
  t.equal(response.status, 200)
  return String((await json(response))['request_id'])
}

async function fetched (api: TestGateway, id: string, init?: RequestInit): Promise<Response> {
  return await api.get(`/v1/chat/deferred-completion/${id}`, init)
}

/** Fetches a completion once it is available. */
async function completed (api: TestGateway, id: string, init?: RequestInit): Promise<Response> {
  return await eventually(
    async () => await fetched(api, id, init),
    ({ status }) => status !== 202,
    'the deferred completion'
  )
}

t.test('a receipt, then pending, then the completion, as often as requested', async t => {
  let ready = false
  const { upstream, api } = await start(t, ({ method }) => {
    if (method === 'POST') return accepted
    return ready ? { pieces: [chatAnswer('later')] } : { status: 202 }
  })
  const response = await api.post(path, question)
  const receipt = await json(response)
  const id = String(receipt['request_id'])
  t.match(receipt, { id, object: 'chat.completion', created: Number, model: 'xai/grok-4.6', choices: [] })
  t.match(id, /^dfr_[\w-]+$/)
  t.notMatch(
    Buffer.from(id.slice(4), 'base64url').toString('latin1'),
    /f15c114e|grok|key-1/,
    'it reveals nothing'
  )
  t.match(upstream.requests[0]?.json, {
    model: 'grok-4.6',
    deferred: true,
    messages: [{ content: 'canary-question' }]
  })

  const waiting = await fetched(api, id)
  t.equal(waiting.status, 202)
  t.match(waiting.headers.get('retry-after'), /^\d$/)
  t.same(await json(waiting), { request_id: id, status: 'pending' })
  t.equal(upstream.requests[1]?.path, '/chat/deferred-completion/f15c114e-f47d')

  ready = true
  const first = await (await fetched(api, id)).text()
  t.match(JSON.parse(first), {
    id: /^chatcmpl-/,
    model: 'xai/grok-4.6',
    choices: [{ message: { content: 'later' } }],
    usage: { total_tokens: 4 }
  })
  t.equal(await (await fetched(api, id)).text(), first)
  t.equal(upstream.requests.length, 3, 'and the provider is called no more')
  await until(() => api.lines.length === 4, 'four lines in the log')
  t.match(api.lines[2], { endpoint: 'chat', model: 'xai/grok-4.6', provider: 'xai', usage: { total: 4 } })
  t.notMatch(JSON.stringify(api.lines), /canary/)
})

t.test('the official clients read the receipt and then the completion', async t => {
  let ready = false
  const { api } = await start(t, ({ method }) => {
    if (method === 'POST') return accepted
    return ready ? { pieces: [chatAnswer('later')] } : { status: 202 }
  })
  const messages = [{ role: 'user' as const, content: 'hi' }]
  const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  const dedalus = new Dedalus({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
  const deferred: object = { deferred: true } // a field that OpenAI's client does not know
  const receipts: ReadonlyArray<{ id: string, choices: unknown[] }> = [
    await dedalus.chat.completions.create({ model: 'xai/grok-4.6', messages, deferred: true }),
    await openai.chat.completions.create({ model: 'xai/grok-4.6', messages, ...deferred })
  ]
  const ask = async (id: string): Promise<unknown[]> => {
    const path = `/chat/deferred-completion/${encodeURIComponent(id)}`
    return [await openai.get(path), await dedalus.get(`/v1${path}`)]
  }
  for (const { id, choices } of receipts) {
    t.same(choices, [])
    for (const answer of await ask(id)) t.same(answer, { request_id: id, status: 'pending' })
  }
  ready = true
  for (const { id } of receipts) {
    for (const answer of await ask(id)) t.match(answer, { choices: [{ message: { content: 'later' } }] })
  }
})

t.test('an id works only unchanged and for the key it was given to', async t => {
  const { upstream, api } = await start(t, ({ method }) =>
    method === 'POST' ? accepted : { pieces: [chatAnswer('x')] }
  )
  const id = await begin(api)
  const own = await api.post(path, question, { headers: { 'x-provider-key': 'mine' } })
  const ownId = String((await json(own))['request_id'])
  const refused = async (
    id: string,
    headers: Record<string, string> = {},
    method = 'GET'
  ): Promise<void> => {
    const response = await fetched(api, id, { headers, method })
    t.equal(response.status, 404)
    t.match(await json(response), { error: { code: 'deferred_completion_not_found', param: 'request_id' } })
  }
  await refused(id, { authorization: `Bearer ${otherKey}` })
  for (const at of [4, 20, 60, id.length - 1]) {
    await refused(id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1))
  }
  for (const odd of [`${id}=`, id.slice(4), id.slice(0, -4), 'dfr_', 'f15c114e-f47d', '..%2F..%2Fmodels']) {
    await refused(odd)
  }
  await refused(ownId, {})
  await refused(ownId, { 'x-provider-key': 'theirs' })
  await refused(id, { 'x-provider-key': 'mine' })
  await refused(id, {}, 'DELETE')
  t.equal(upstream.requests.length, 2, 'and none of it reaches the provider')
  t.equal((await fetched(api, ownId, { headers: { 'x-provider-key': 'mine' } })).status, 200)
  t.equal((await fetched(api, id)).status, 200)
  t.equal((await fetched(api, id, { headers: { authorization: '' } })).status, 401)
})

t.test('a completion is fetched with the key that requested it, wherever it is listed now', async t => {
  const upstream = await fakeUpstream(({ method, headers }) => {
    if (method === 'POST') return accepted
    return headers.authorization === 'Bearer old' ? { pieces: [chatAnswer('later')] } : { status: 404 }
  })
  t.teardown(upstream.close)
  const api = await gateway(t, upstream, await store(t), {}, { apiKeys: keysOf('old') })
  const [first, second] = [await begin(api), await begin(api)]
  const reload = async (...names: string[]): Promise<void> => {
    const { settings } = api.gateway.services
    await api.gateway.reload({
      ...settings,
      providers: settings.providers.map(one => one.id === 'xai' ? { ...one, apiKeys: keysOf(...names) } : one)
    })
  }
  await reload('new', 'old')
  t.match(await json(await fetched(api, first)), { choices: [{ message: { content: 'later' } }] })
  await reload('new')
  t.equal((await fetched(api, second)).status, 404, 'the key is gone')
})

t.test('an undeferrable call is refused, and one that is not deferred is completed at once', async t => {
  const { upstream, api } = await start(t, ({ json }) =>
    Reflect.get(Object(json), 'deferred') === true ? accepted : { pieces: [chatAnswer('now')] }
  )
  for (const [more, param] of [
    [{ stream: true }, 'stream'],
    [{ mcp_servers: ['org/name'] }, 'mcp_servers']
  ] as const) {
    const response = await api.post(path, { ...question, ...more })
    t.equal(response.status, 400)
    t.match(await json(response), { error: { code: 'unsupported_parameter', param } })
  }
  t.equal(upstream.requests.length, 0)
  const now = await api.post(path, { ...question, model: 'openai/gpt-5' })
  t.match(await json(now), { choices: [{ message: { content: 'now' } }] })
  const list = await api.post(path, { ...question, model: ['openai/gpt-5', 'xai/grok-4.6'] })
  t.match(await json(list), { choices: [{ message: { content: 'now' } }] }, 'the first of a list decides')
  t.match(await json(await api.post(path, { ...question, deferred: false })), {
    choices: [{ message: { content: 'now' } }]
  })
})

t.test('a completion that comes at once is the answer, and is billed once', async t => {
  const { upstream, api } = await start(t, () => ({ pieces: [chatAnswer('at once')] }))
  const response = await api.post(path, question)
  t.equal(response.status, 200)
  t.match(await json(response), {
    object: 'chat.completion',
    model: 'xai/grok-4.6',
    choices: [{ message: { content: 'at once' }, finish_reason: 'stop' }],
    usage: { total_tokens: 4 }
  })
  t.equal(upstream.requests.length, 1)
  await until(() => api.lines.length === 1, 'the line of the call')
  t.match(api.lines[0], { provider: 'xai', usage: { prompt: 3, completion: 1 } })
})

t.test('a deferred request whose answer breaks off after the head is not sent again', async t => {
  for (const then of ['reset', 'fin'] as const) {
    const { upstream, api } = await start(t, () => ({ pieces: ['{"request_'], then }))
    t.equal((await api.post(path, question)).status, 502, then)
    t.equal(upstream.requests.length, 1, then)
  }
})

t.test(
  'a completion that the provider no longer knows is not found, even under status 200',
  async t => {
    for (const body of [
      '{"code":"Some requested entity was not found","error":"no such request"}',
      '{"code":"The request was not found"}'
    ]) {
      const { api } = await start(t, ({ method }) => (method === 'POST' ? accepted : { pieces: [body] }))
      const response = await fetched(api, await begin(api))
      t.equal(response.status, 404, body)
      t.match(await json(response), { error: { code: 'deferred_completion_not_found' } })
    }
  }
)

t.test("a provider's id that would change the path is rejected", async t => {
  for (const id of ['../models', '..', 'a/b', '%2e', '', 'x'.repeat(257), 7]) {
    const { upstream, api } = await start(t, () => ({ pieces: [JSON.stringify({ request_id: id })] }))
    const response = await api.post(path, question)
    t.equal(response.status, 502, String(id))
    t.match(await json(response), { error: { code: 'upstream_invalid_response' } })
    t.equal(upstream.requests.length, 1)
  }
})

t.test('a failed completion gives the error of the call, at every fetch', async t => {
  const cases: Array<[Script, number, string, boolean]> = [
    [
      {
        status: 403,
        pieces: ['{"code":"permission-denied","error":"Content violates usage guidelines. Team: t"}']
      },
      400,
      'content_policy_violation',
      true
    ],
    [
      { pieces: ['{"code":"Client specified an invalid argument","error":"no"}'] },
      400,
      'Client specified an invalid argument',
      true
    ],
    [{ pieces: ['<html>'] }, 502, 'upstream_invalid_response', true],
    [{ pieces: ['{"id":"half'], then: 'fin' }, 502, 'deferred_result_lost', true],
    [{ status: 404, pieces: ['{"error":"not found"}'] }, 404, 'deferred_completion_not_found', false],
    [{ status: 429, pieces: ['{"error":"slow"}'] }, 429, 'rate_limit_exceeded', false],
    [{ status: 308, headers: { location: '/v2' } }, 502, 'upstream_invalid_response', false],
    [{ status: 500 }, 502, 'upstream_error', false]
  ]
  for (const [script, status, code, kept] of cases) {
    const { upstream, api } = await start(t, ({ method }) => (method === 'POST' ? accepted : script))
    const id = await begin(api)
    for (const attempt of [1, 2]) {
      const response = await fetched(api, id)
      t.equal(response.status, status, `${code} ${attempt}`)
      t.match(await json(response), { error: { code } })
    }
    t.equal(upstream.requests.length, kept ? 2 : 3, `${code} is ${kept ? 'kept' : 'requested again'}`)
  }
})

t.test('the usage of an unreadable completion is recorded at its fetch', async t => {
  const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }
  const completion = JSON.stringify({ id: 'x', choices: [], usage })
  const { api } = await start(t, ({ method }) => (method === 'POST' ? accepted : { pieces: [completion] }))
  t.equal((await fetched(api, await begin(api))).status, 502)
  await until(() => api.lines.length === 2, 'the lines of both calls')
  t.match(api.lines[1], { usage: { prompt: 7, completion: 2 } })
})

t.test(
  "a key refused at the fetch is reported as the caller's only if it was, and is in no answer",
  async t => {
    const key = 'plainlookingcredential0123456789'
    const refusals: Script[] = [
      { status: 401, pieces: ['{"code":"unauthenticated","error":"no"}'] },
      { pieces: ['{"code":"The caller is unauthenticated","error":"no"}'] }
    ]
    for (const refusal of refusals) {
      const { api } = await start(t, ({ method }) => (method === 'POST' ? accepted : refusal))
      const own = { headers: { 'x-provider-key': 'mine' } }
      const id = String((await json(await api.post(path, question, own)))['request_id'])
      const refused = await fetched(api, id, own)
      t.equal(refused.status, 401)
      t.match(await json(refused), { error: { code: 'invalid_provider_key' } })
      const ours = await fetched(api, await begin(api))
      t.equal(ours.status, 502)
      t.match(await json(ours), { error: { code: 'upstream_auth_failed' } })
    }
    const upstream = await fakeUpstream(({ method }) =>
      method === 'POST'
        ? accepted
        : { status: 422, pieces: [JSON.stringify({ error: { message: `no: ${key} is odd` } })] }
    )
    t.teardown(upstream.close)
    const api = await gateway(t, upstream, await store(t), {}, { apiKey: new Secret(key) })
    t.match(await json(await fetched(api, await begin(api))), {
      error: { message: 'no: [redacted] is odd' }
    })
  }
)

t.test('nothing is lost between fetching and answering', async t => {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const { upstream, api } = await start(t, async ({ method }, number) => {
    if (method === 'POST') return accepted
    if (number > 1) return { status: 404 }
    await opened
    return { pieces: [chatAnswer('once')] }
  })
  const id = await begin(api)
  const leaving = new AbortController()
  const given = fetched(api, id, { signal: leaving.signal })
  given.catch(() => undefined)
  await upstream.request(1)
  t.equal((await fetched(api, id)).status, 202, 'two do not fetch at once')
  leaving.abort()
  go()
  await until(() => api.lines.length === 3, 'three lines in the log')
  t.match(
    await json(await fetched(api, id)),
    { choices: [{ message: { content: 'once' } }] },
    'a caller who left may come back'
  )
  t.equal(upstream.requests.length, 2)
})

t.test('a completion that does not fit the store is given to the caller who fetched it', async t => {
  const { api, database } = await start(t, async ({ method }) => {
    if (method === 'POST') return accepted
    await sql`pragma max_page_count = 1`.execute(database.query) // SQLite raises it to the file size
    return { pieces: [chatAnswer('long '.repeat(40_000))] }
  })
  const response = await fetched(api, await begin(api))
  t.equal(response.status, 200)
  t.match(await json(response), { choices: [{ message: { content: /^long long/ } }] })
})

t.test('a completion lost with its process is reported as lost', async t => {
  const { api, database } = await start(t, ({ method }) => (method === 'POST' ? accepted : { status: 404 }))
  const id = await begin(api)
  // What the store holds when a process dies in the middle of a fetch.
  await new DeferredStore(database).claim(
    { id: digest(id), keyId: 'key-1' },
    { owner: 'dead', untilMs: 1 },
    Date.now() + 60_000,
    Date.now()
  )
  for (const _ of [1, 2]) {
    const response = await fetched(api, id)
    t.equal(response.status, 502)
    t.match(await json(response), { error: { code: 'deferred_result_lost' } })
    t.equal(response.headers.get('x-should-retry'), 'false')
  }
})

t.test('another process with the same store serves the id, one with another store does not', async t => {
  const { upstream, api, database } = await start(t, ({ method }) =>
    method === 'POST' ? accepted : { pieces: [chatAnswer('shared')] }
  )
  const id = await begin(api)
  const second = await gateway(t, upstream, database)
  t.match(await json(await fetched(second, id)), { choices: [{ message: { content: 'shared' } }] })
  await api.gateway.close()
  const third = await gateway(t, upstream, database)
  t.match(
    await json(await fetched(third, id)),
    { choices: [{ message: { content: 'shared' } }] },
    'also after a restart'
  )
  const stranger = await start(t, () => accepted)
  t.equal((await fetched(stranger.api, id)).status, 404)
})

const emulated: Partial<Settings> = {
  deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 4, maxBytesPerKey: 1_000_000 }
}
const later = { model: 'openai/gpt-5' }

t.test('the gateway defers calls for providers that cannot, and deletes completed requests', async t => {
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => {
    go = resolve
  })
  const { api, database, upstream } = await start(
    t,
    async () => {
      await opened
      return { pieces: [chatAnswer('emulated')] }
    },
    emulated
  )
  const id = await begin(api, later)
  await upstream.request(0)
  t.equal((await fetched(api, id)).status, 202)
  t.equal((await fetched(api, id, { headers: { authorization: `Bearer ${otherKey}` } })).status, 404)
  go()
  await until(
    () => api.lines.some(line => Reflect.get(Object(line['usage']), 'total') === 4),
    'a line in the log with four tokens'
  )
  const answer = await completed(api, id)
  t.match(await json(answer), { model: 'openai/gpt-5', choices: [{ message: { content: 'emulated' } }] })
  const rows = await database.query.selectFrom('deferred').selectAll().execute()
  t.notMatch(JSON.stringify(rows), /canary/)
  t.notOk('deferred' in Object(upstream.requests[0]?.json))
  const late = await fetched(api, id, { method: 'DELETE' })
  t.equal(late.status, 404, 'what is done cannot be cancelled')
  t.match(await json(late), { error: { message: /^The call cannot be cancelled: it is complete/ } })
})

for (const [title, parts, model] of [
  ['by the gateway', emulated, later.model],
  ['by its provider', {}, question.model]
] as const) {
  t.test(`a request deferred ${title} is fitted to its route`, async t => {
    const { api, upstream } = await start(
      t,
      ({ json }) =>
        Reflect.get(Object(json), 'deferred') === true ? accepted : { pieces: [chatAnswer('fitted')] },
      { ...parts, models: [modelSettings(model, { capabilities: { output_token_limit: 1000 } })] }
    )
    await begin(api, { model, max_completion_tokens: 5000 })
    const { json: sent } = await upstream.request(0)
    t.match(sent, { max_completion_tokens: 1000 })
  })
}

t.test('a failed deferred call answers with its error', async t => {
  const { api } = await start(
    t,
    () => ({ status: 400, pieces: ['{"error":{"message":"bad","code":"odd"}}'] }),
    emulated
  )
  const id = await begin(api, later)
  const answer = await completed(api, id)
  t.equal(answer.status, 400)
  t.match(await json(answer), { error: { code: 'odd', message: 'bad' } })
})

t.test("waiting calls are limited, can be cancelled, and are not stored with a caller's key", async t => {
  const { api, upstream } = await start(t, () => ({ silent: true }), emulated)
  t.equal(
    (await api.post(path, { ...question, ...later, stream: true })).status,
    400,
    'and none is streamed'
  )
  const ids = [await begin(api, later), await begin(api, later)]
  const full = await api.post(path, { ...question, ...later })
  t.equal(full.status, 503)
  t.match(await json(full), { error: { code: 'overloaded' } })
  const headers = { authorization: `Bearer ${otherKey}` }
  const another = await api.post(path, { ...question, ...later }, { headers })
  t.equal(another.status, 200, 'one key leaves room for others')
  t.equal(
    (await api.post(path, { ...question, ...later }, { headers })).status,
    503,
    'and they for more of them'
  )
  t.equal(
    (await fetched(api, String((await json(another))['request_id']), { method: 'DELETE', headers })).status,
    200
  )
  await upstream.request(1)
  for (const id of ids) {
    const cancelled = await fetched(api, id, { method: 'DELETE' })
    t.equal(cancelled.status, 200)
    t.same(await json(cancelled), { request_id: id, status: 'cancelled' })
    t.equal((await fetched(api, id)).status, 404)
    t.equal((await fetched(api, id, { method: 'DELETE' })).status, 404)
  }
  for (const { aborted } of upstream.requests) await aborted
  t.ok(await begin(api, later), 'there is room again')
  const own = await api.post(path, { ...question, ...later }, { headers: { 'x-provider-key': 'mine' } })
  t.equal(own.status, 400)
  t.match(await json(own), { error: { param: 'deferred' } })
})

t.test('a cancelled call of a key with a budget is read to its end, and recorded as cancelled', async t => {
  const hold = withResolvers<undefined>()
  const upstream = await fakeUpstream(async () => {
    await hold.promise
    return { pieces: [chatAnswer('x')] }
  })
  t.teardown(upstream.close)
  const limits = { budget: { usd: 1, per: 'day', unpriced: 'allow' } } as const
  const key: ApiKey = { id: 'key-1', name: 'test', limits }
  const api = await gateway(t, upstream, await store(t), emulated, {}, {
    check: presented => presented === testKey ? key : undefined, find: () => key
  })
  const id = await begin(api, later)
  await upstream.request(0)
  t.equal((await fetched(api, id, { method: 'DELETE' })).status, 200)
  hold.resolve(undefined)
  const ended = (): Record<string, unknown> | undefined => api.lines.find(line => line['attempts'] === 1)
  await until(() => ended() !== undefined, 'the end of the call')
  t.match(ended(), { outcome: 'client_closed', usage: { total: Number, estimated: undefined } })
})

t.test('stored completions per key are limited, but an answer already paid for is always kept', async t => {
  const answers: Script = { pieces: [chatAnswer('x'.repeat(2000))] }
  const bounded = {
    deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 2048 }
  }
  const { api, upstream } = await start(t, () => answers, bounded)
  const id = await begin(api, later)
  const answer = await completed(api, id)
  t.match(await json(answer), { choices: [{ message: { content: /^x{2000}$/ } }] })
  const requests = upstream.requests.length
  for (const model of [later, {}]) {
    const refused = await api.post(path, { ...question, ...model })
    t.equal(refused.status, 429)
    t.equal(refused.headers.get('x-should-retry'), 'false')
    t.match(await json(refused), {
      error: { code: 'insufficient_quota', message: /kept for this key take 2048 bytes or more/ }
    })
  }
  t.equal(upstream.requests.length, requests, 'the provider was not called')
  const other = await api.post(
    path,
    { ...question, ...later },
    { headers: { authorization: `Bearer ${otherKey}` } }
  )
  t.equal(other.status, 200)
  t.equal((await fetched(api, id)).status, 200, 'what is there can still be had')
})

t.test(
  "providers' completions are stored up to the key's limit, and beyond it given out once",
  async t => {
    const { api } = await start(
      t,
      ({ method }) => (method === 'POST' ? accepted : { pieces: [chatAnswer('x'.repeat(900))] }),
      {
        deferred: { forAllProviders: false, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 2048 }
      }
    )
    const ids = [await begin(api), await begin(api)]
    for (const id of ids) {
      t.match(await json(await fetched(api, id)), { choices: [{ message: { content: /^x{900}$/ } }] })
    }
    t.match(await json(await fetched(api, ids[0] ?? '')), {
      choices: [{ message: { content: /^x{900}$/ } }]
    })
    const again = await fetched(api, ids[1] ?? '')
    t.equal(again.status, 429)
    t.match(await json(again), {
      error: { code: 'insufficient_quota', message: /was already returned and was not stored/ }
    })
  }
)

t.test('while another process writes, reads continue and writes wait', async t => {
  const { api, database } = await start(t, () => ({ silent: true }), emulated)
  const id = await begin(api, later)
  const other = await openDatabase(dirname(database.path))
  t.teardown(other.close)
  await sql`begin immediate`.execute(other.query)
  const answer = api.post(path, { ...question, ...later })
  t.equal((await fetched(api, id)).status, 202)
  t.equal((await api.get('/livez')).status, 200)
  await sql`commit`.execute(other.query)
  t.equal((await answer).status, 200)
})

t.test(
  'a call waiting or running at shutdown is completed after the next start',
  async t => {
    let open = false
    const { api, upstream, database } = await start(
      t,
      () => (open ? { pieces: [chatAnswer('after')] } : { silent: true }),
      emulated
    )
    const id = await begin(api, later)
    await upstream.request(0)
    await api.gateway.close()
    open = true
    const next = await gateway(t, upstream, database, emulated)
    const answer = await completed(next, id)
    t.match(await json(answer), { choices: [{ message: { content: 'after' } }] })
  }
)

t.test('a revoked key spends no more, whether its call waits or runs', async t => {
  const known = new Map<string, ApiKey>([[testKey, { id: 'key-1', name: 'test' }]])
  const keys: Keys = {
    check: presented => known.get(presented),
    find: id => [...known.values()].find(key => key.id === id)
  }
  const upstream = await fakeUpstream({ silent: true })
  t.teardown(upstream.close)
  const database = await store(t)
  const states = async (): Promise<unknown> =>
    await database.query.selectFrom('deferred').select(['state', 'status']).execute()
  const first = await gateway(t, upstream, database, emulated, {}, keys)
  const id = await begin(first, later)
  const running = await upstream.request(0)
  known.clear()
  await running.aborted
  t.equal((await fetched(first, id)).status, 401, 'for every key')
  known.set('again', { id: 'key-1', name: 'test' })
  const answer = await completed(first, id, { headers: { authorization: 'Bearer again' } })
  t.equal(answer.status, 401)
  t.match(await json(answer), { error: { code: 'invalid_api_key' } })
  const ended = (attempts: number): Record<string, unknown> | undefined =>
    first.lines.find(line => line['error'] === 'invalid_api_key' && line['attempts'] === attempts)
  await until(() => ended(1) !== undefined, 'the first gateway to log invalid_api_key')
  t.match(ended(1), { usage: { prompt: 5, estimated: true } }, 'the provider was at work')
  t.match(ended(0), { usage: undefined, status: 401 }, 'a call refused for its own key costs nothing')

  known.set(testKey, { id: 'key-1', name: 'test' })
  await begin(first, later)
  await upstream.request(1)
  await first.gateway.close()
  t.same(await states(), [
    { state: 'done', status: 401 },
    { state: 'queued', status: null }
  ])
  known.clear()
  known.set(testKey, { id: 'key-1', name: 'test', endpoints: ['embeddings'] })
  const next = await gateway(t, upstream, database, emulated, {}, keys)
  await until(
    () => next.lines.some(line => line['error'] === 'invalid_api_key'),
    'the next gateway to log invalid_api_key'
  )
  await next.gateway.close()
  t.same(await states(), [
    { state: 'done', status: 401 },
    { state: 'done', status: 401 }
  ])
  t.equal(upstream.requests.length, 2)
})

t.test('a deferred call ends with the configuration it began with', async t => {
  let fail = (): void => undefined
  const failing = new Promise<void>(resolve => {
    fail = resolve
  })
  const { api, upstream } = await start(
    t,
    async (_request, number) => {
      if (number > 0) return { pieces: [chatAnswer('again')] }
      await failing
      return { status: 500, pieces: ['{}'] }
    },
    { ...emulated, providers: [] }
  )
  await api.gateway.reload({
    ...api.gateway.services.settings,
    providers: [upstreamAt(upstream.url, 'openai', 'openai', { retries: 1 })]
  })
  const id = await begin(api, later)
  await upstream.request(0)
  await api.gateway.reload(api.gateway.services.settings)
  fail()
  const answer = await completed(api, id)
  t.match(await json(answer), { choices: [{ message: { content: 'again' } }] }, 'also between two attempts')
})

t.test('a task that cannot be read fails, once', async t => {
  const database = await store(t)
  const { store: rows } = await openDeferrals(database)
  await rows.add({ id: 'a', keyId: 'k', task: '{}' }, Date.now() + 60_000, 1)
  const upstream = await fakeUpstream({})
  t.teardown(upstream.close)
  const api = await gateway(t, upstream, database, emulated)
  const row = await eventually(
    async () => await rows.find('a', Date.now()),
    found => found?.state === 'done',
    'the task to be done'
  )
  t.match(row, { status: 500, body: /internal_error/ })
  t.match(api.lines, [{ level: 'error', cause: { name: 'TypeError' } }])
})

t.test('the task of a dead process is taken over, and its late answer is ignored', async t => {
  const database = await store(t)
  const deferrals = await openDeferrals(database)
  const { store: rows } = deferrals
  await rows.add({ id: 'a', keyId: 'k', task: '{}' }, Date.now() + 60_000, 1)
  t.equal(await rows.add({ id: 'b', keyId: 'l', task: '{}' }, Date.now() + 60_000, 1), false)
  const dead = { owner: 'dead', untilMs: Date.now() - 1 }
  t.match(await rows.take(dead, Date.now()), { id: 'a' })
  const ran = new Promise<void>(resolve => {
    const runner = new TaskRunner(deferrals, {
      run: async () => {
        resolve()
        return { status: 200, body: '"alive"' }
      },
      keepMs: () => 60_000,
      onFailure: error => t.fail(String(error))
    })
    runner.start()
    t.teardown(async () => await runner.stop())
  })
  await ran
  await until(async () => (await rows.find('a', Date.now()))?.state === 'done', 'the task to be done')
  t.equal(await rows.finish('a', 'dead', { status: 200, body: '"dead"' }, Date.now() + 60_000), false)
  t.match(await rows.find('a', Date.now()), { body: '"alive"', task: null })
  t.equal(await rows.renew('a', dead), false)
  await rows.expire(Date.now() + 120_000)
  t.equal(await rows.find('a', 0), undefined)
})

const priced = [
  modelSettings('xai/grok-4.6', {
    price: { input: 1, output: 10 },
    capabilities: { output_token_limit: 40_000 }
  })
]

t.test(
  'a receipt is charged its maximum cost until the answer is fetched, then the actual cost',
  async t => {
    const upstream = await fakeUpstream(({ method, path }) => {
      if (method === 'POST') return accepted
      if (path.endsWith('refused')) return { status: 400, pieces: ['{"error":"no"}'] }
      return { pieces: [chatAnswer('later')] }
    })
    t.teardown(upstream.close)
    const database = await store(t)
    const usageDatabase = await openDatabase(dirname(database.path), { busyTimeoutMs: 0 })
    t.teardown(usageDatabase.close)
    const key: ApiKey = { id: 'key-3', name: 'limited', limits: { budget: { usd: 1, per: 'day' } } }
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(upstream.url, 'xai', 'xai')],
        models: priced,
        deferred: { forAllProviders: false, keepMs: 86_400_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
      },
      { limited: key },
      { database, usageDatabase }
    )
    const headers = { authorization: 'Bearer limited' }
    const receipts: string[] = []
    const defer = async (): Promise<number> => {
      const response = await api.post(path, longQuestion, { headers })
      const body = await json(response)
      if (response.status === 200) receipts.push(String(body['request_id']))
      return response.status
    }
    for (let call = 0; call < 3; call++) await defer()
    t.equal(upstream.requests.length, 3, 'two of $0.40, and one shortened to what was left')
    t.equal(await defer(), 402, 'answers that are not fetched yet have used the budget up')
    for (const id of receipts) t.equal((await fetched(api, id, { headers })).status, 200)
    t.equal(await defer(), 200, 'what they really cost is next to nothing')
    await api.gateway.close()
    const [spent] = await usageDatabase.query.selectFrom('spending').selectAll().execute()
    const rows = await usageDatabase.query.selectFrom('usage').selectAll().execute()
    const charged = rows.at(-1)?.cost_nano_usd ?? 0
    t.ok(charged > 0.39e9)
    t.equal(
      spent?.cost_nano_usd,
      charged + 3 * (3 * 1000 + 10_000),
      'three answers as they were reported, and the last receipt'
    )
  }
)

t.test('the charge of a receipt is refunded by the one fetch whose refusal is stored', async t => {
  const database = await store(t)
  const { query } = database
  // What may happen in the store while the provider answers.
  const whileFetching = [
    async () =>
      await sql`create trigger no_room before update on deferred when new.state = 'done' begin select raise(abort, 'no room'); end`.execute(
        query
      ),
    async () => await query.updateTable('deferred').set({ owner: 'another process' }).execute()
  ]
  const upstream = await fakeUpstream(async ({ method }) => {
    if (method === 'POST') return accepted
    await whileFetching.shift()?.()
    return { status: 400, pieces: ['{"error":"no"}'] }
  })
  t.teardown(upstream.close)
  const usageDatabase = await openDatabase(dirname(database.path), { busyTimeoutMs: 0 })
  t.teardown(usageDatabase.close)
  const key: ApiKey = { id: 'key-3', name: 'limited', limits: { budget: { usd: 1, per: 'day' } } }
  const api = await testGateway(
    t,
    { providers: [upstreamAt(upstream.url, 'xai', 'xai')], models: priced },
    { limited: key },
    { database, usageDatabase }
  )
  const headers = { authorization: 'Bearer limited' }
  const id = String((await json(await api.post(path, longQuestion, { headers })))['request_id'])
  const fetchAgain = async (): Promise<number> => {
    // that of the earlier fetch has been undone
    await query.updateTable('deferred').set({ lease_until_ms: 0 }).execute()
    return (await fetched(api, id, { headers })).status
  }
  t.equal(await fetchAgain(), 503, 'the store has no room')
  await sql`drop trigger no_room`.execute(query)
  t.equal(await fetchAgain(), 400, 'another process has taken over')
  t.equal(await fetchAgain(), 400, 'kept')
  t.equal(await fetchAgain(), 400, 'as often as it is requested')
  t.equal(upstream.requests.length, 4)
  await api.gateway.close()
  const rows = await usageDatabase.query.selectFrom('usage').select('cost_nano_usd').execute()
  const costs = rows.map(row => row.cost_nano_usd ?? 0)
  const charged = Math.max(...costs)
  t.ok(charged > 0.39e9)
  t.same(
    costs.filter(cost => cost < 0),
    [-charged]
  )
})

t.test('an answer that a guard inspects is not deferred to its provider', async t => {
  const stage = {
    name: 'islands',
    use: 'pattern',
    at: ['answer'],
    action: 'mask',
    patterns: [{ name: 'island', match: 'Z[a-z]{6}r', maxLength: 8 }]
  } as const
  const { upstream, api } = await start(t, () => ({ pieces: [chatAnswer('I went to Zanzibar')] }), {
    guards: [stage]
  })
  const answer = await api.post(path, question)
  t.equal(answer.status, 200)
  t.match(await json(answer), { choices: [{ message: { content: 'I went to [island]' } }] })
  t.notMatch(upstream.requests[0]?.text, /deferred/)
})
