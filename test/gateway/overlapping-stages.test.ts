/** Stages that inspect a request while the provider answers: nothing is passed on before their verdict. */

import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { adminGateway } from '../support/admin.ts'
import {
  dialects,
  holdsWord,
  protocols,
  scriptOf,
  takenBy,
  type Json,
  type Protocol
} from '../support/conversations.ts'
import { chatUpstreamAt, testGateway, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'
import {
  fakeUpstream, toolCallAnswer, type FakeUpstream, type Script, type SeenRequest
} from '../support/upstream.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { word } from '../support/word-stages.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

const json = (value: unknown): Script => ({
  headers: { 'content-type': 'application/json' },
  pieces: [JSON.stringify(value)]
})
const pass = json({})
const refuse = json({ refuse: 'it names an island' })

/** A service that answers on command. */
async function slowService (
  t: Test
): Promise<{
  readonly service: FakeUpstream
  readonly decide: (answer: Script) => void
  readonly stage: GuardSettings
}> {
  const waiting: Array<(answer: Script) => void> = []
  const decided: Script[] = []
  const service = await fakeUpstream(async () => {
    const given = decided.shift()
    if (given !== undefined) return given
    const { promise, resolve } = withResolvers<Script>()
    waiting.push(resolve)
    return await promise
  })
  t.teardown(async () => {
    for (const resolve of waiting) resolve(pass)
    await service.close()
  })
  const decide = (answer: Script): void => {
    const resolve = waiting.shift()
    if (resolve === undefined) decided.push(answer)
    else resolve(answer)
  }
  return {
    service,
    decide,
    stage: {
      name: 'slow',
      use: 'webhook',
      url: service.url,
      at: ['request'],
      action: 'refuse',
      during: true,
      retries: 0
    }
  }
}

interface Started {
  readonly api: TestGateway
  readonly upstream: FakeUpstream
  readonly rows: UsageRow[]
  readonly service: FakeUpstream
  readonly decide: (answer: Script) => void
}

async function start (
  t: Test,
  answer: Script | ((request: SeenRequest, number: number) => Script),
  parts: Partial<Settings> = {},
  more: Partial<GuardSettings> = {},
  protocol: Protocol = protocols.chat
): Promise<Started> {
  const { service, decide, stage } = await slowService(t)
  const upstream = await fakeUpstream(answer)
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const rows: UsageRow[] = []
  const api = await testGateway(t, {
    providers: [protocol.provider(upstream.url)],
    models: [modelSettings(protocol.model, { price: { input: 1, output: 2 } })],
    guards: [{ ...stage, ...more }],
    ...parts
  }, {}, { database, observers: [(_call, row) => { if (row !== undefined) rows.push(row) }] })
  return { api, upstream, rows, service, decide }
}

const question = (content: string, more: Json = {}): Json => ({
  model: protocols.chat.model,
  messages: [{ role: 'user', content }],
  ...more
})

for (const [id, protocol] of Object.entries(protocols)) {
  t.test(
    `with ${id} a request is sent before the verdict, but no part of the answer is passed on`,
    async t => {
      const { api, upstream, service, decide } = await start(t, scriptOf(protocol), {}, {}, protocol)
      for (const [name, { path, request }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${name}, ${stream ? 'streamed' : 'complete'}`
          const number = upstream.requests.length
          let isAnswered = false
          const answered = api
            .post(path, { ...takenBy(protocol, request(protocol.model, 'there')), stream })
            .finally(() => {
              isAnswered = true
            })
          await Promise.all([upstream.request(number), service.request(number)])
          // The provider answers at once: while the gateway serves other calls, no part of it is passed on.
          for (let round = 0; round < 5; round++) await (await api.get('/v1/models')).text()
          t.equal(isAnswered, false, title)
          decide(pass)
          const response = await answered
          const text = await response.text()
          t.equal(response.status, 200, `${title}: ${text.slice(0, 200)}`)
          t.ok(holdsWord(text), title)
        }
      }
    }
  )

  t.test(
    `with ${id} a refusal aborts the provider request, with an error in the format of each dialect`,
    async t => {
      const { api, upstream, rows, decide } = await start(t, { silent: true }, {}, {}, protocol)
      for (const [name, { path, request }] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${name}, ${stream ? 'streamed' : 'complete'}`
          const number = upstream.requests.length
          const answered = api.post(path, { ...takenBy(protocol, request(protocol.model, 'there')), stream })
          const sent = await upstream.request(number)
          decide(refuse)
          const response = await answered
          t.equal(response.status, 400, title)
          t.match(await response.text(), /The guard `slow` refused this call: it names an island\./, title)
          await sent.aborted
          await until(() => rows.length > number, `${title}: its row`)
          t.match(rows[number], { outcome: 'error', estimated: 1 }, title)
          t.ok(
            (rows[number]?.prompt_tokens ?? 0) > 0 && (rows[number]?.cost_nano_usd ?? 0) > 0,
            `${title}: the provider bills what it was sent`
          )
        }
      }
    }
  )
}

t.test('other endpoints wait for the verdict before they send a request', async t => {
  const embedding = json({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [1, 0] }],
    model: 'm',
    usage: { prompt_tokens: 1, total_tokens: 1 }
  })
  const { api, upstream, service, decide } = await start(t, embedding)
  for (const [number, verdict] of [refuse, pass].entries()) {
    const answered = api.post('/v1/embeddings', { model: protocols.chat.model, input: 'hi' })
    await service.request(number)
    t.equal(upstream.requests.length, 0)
    decide(verdict)
    t.equal((await answered).status, verdict === pass ? 200 : 400)
  }
  t.equal(upstream.requests.length, 1)
})

t.test('neither the body of a refused request is kept, nor its end user', async t => {
  const { decide, stage } = await slowService(t)
  const upstream = await fakeUpstream({ silent: true })
  t.teardown(upstream.close)
  const { api, keys, database } = await adminGateway(t, {
    providers: [chatUpstreamAt(upstream.url)],
    guards: [stage],
    calls: {
      keptMemoryBytes: 1e8,
      keepBodies: [
        {
          project: '*',
          keepMs: 60_000,
          maxBytes: 500_000,
          redact: { fields: [], patterns: [] },
          readableBy: 'admin'
        }
      ]
    }
  })
  const { key } = await keys.create({ name: 'caller' })
  const answered = api.post(
    '/v1/chat/completions',
    { ...question(word), user: word },
    { headers: { authorization: `Bearer ${key}` } }
  )
  await upstream.request(0)
  decide(refuse)
  t.equal((await answered).status, 400)
  const rows = async (table: 'usage' | 'call_bodies'): Promise<object[]> =>
    await database.query.selectFrom(table).selectAll().execute()
  await until(
    async () => (await rows('usage')).length === 1 && (await rows('call_bodies')).length === 1,
    'the row and the bodies of the call'
  )
  await until(
    async () =>
      (await database.query.selectFrom('call_bodies').select('id').where('state', '=', 'storing').execute())
        .length === 0,
    'the bodies are stored'
  )
  for (const table of ['usage', 'call_bodies'] as const) {
    t.notOk(holdsWord(JSON.stringify(await rows(table))), table)
  }
})

t.test('a client disconnect aborts both requests', async t => {
  const { api, upstream, service, rows } = await start(t, { silent: true })
  const leaving = new AbortController()
  const answered = api.post('/v1/chat/completions', question('hi'), { signal: leaving.signal })
  const [sent, asked] = await Promise.all([upstream.request(0), service.request(0)])
  leaving.abort()
  await t.rejects(answered)
  await Promise.all([sent.aborted, asked.aborted])
  await until(() => rows.length === 1, 'its row')
  t.match(rows, [{ outcome: 'client_closed' }])
})

t.test(
  'if a service is slow or down, the call is refused or passes, depending on `when_unavailable`',
  async t => {
    for (const whenUnavailable of ['refuse', 'pass'] as const) {
      for (const isDown of [true, false]) {
        const title = `${whenUnavailable}, ${isDown ? 'down' : 'slow'}`
        const { api, upstream, decide, rows } = await start(
          t,
          scriptOf(protocols.chat),
          {},
          { whenUnavailable, timeoutMs: isDown ? 60_000 : 50 }
        )
        if (isDown) decide({ status: 500 })
        const response = await api.post('/v1/chat/completions', question('hi'))
        const text = await response.text()
        t.equal(response.status, whenUnavailable === 'refuse' ? 503 : 200, title)
        t.equal(holdsWord(text), whenUnavailable === 'pass', title)
        if (whenUnavailable === 'refuse') {
          t.match(JSON.parse(text), { error: { code: 'stage_unavailable' } }, title)
        }
        t.equal(upstream.requests.length, 1, title)
        await until(() => rows.length === 1, title)
        t.match(
          api.lines.findLast(({ msg }) => msg === 'call'),
          { findings: [{ stage: 'slow', action: 'unavailable' }] },
          title
        )
      }
    }
  }
)

t.test('no server tool runs before the verdict', async t => {
  const tools = await startToolServer(t, { more: ['look'] })
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  const calling = { pieces: [toolCallAnswer('look', {}, usage)] }
  for (const verdict of [refuse, pass]) {
    const { api, upstream, decide, rows } = await start(
      t,
      (request, number) => (number === 0 ? calling : scriptOf(protocols.chat)(request)),
      { tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] } }
    )
    const before = tools.counts['tool look'] ?? 0
    const answered = api.post(
      '/v1/chat/completions',
      question('hi', { mcp_servers: [tools.url], max_turns: 2 })
    )
    await upstream.request(0)
    t.equal(tools.counts['tool look'] ?? 0, before)
    decide(verdict)
    const response = await answered
    await response.text()
    t.equal(response.status, verdict === pass ? 200 : 400)
    t.equal((tools.counts['tool look'] ?? 0) - before, verdict === pass ? 1 : 0)
    await until(() => rows.length === 1, 'its row')
    t.ok((rows[0]?.prompt_tokens ?? 0) >= 3, 'the turn is billed')
  }
})

t.test('a cached answer waits for the verdict on its own request', async t => {
  const { api, upstream, decide } = await start(t, scriptOf(protocols.chat), {
    cache: { answers: { ttlMs: 60_000, maxBytes: 16e6, scope: 'key', when: 'always' } }
  })
  for (const [verdict, status, cache] of [
    [pass, 200, 'miss'],
    [pass, 200, 'hit'],
    [refuse, 400, 'hit']
  ] as const) {
    decide(verdict)
    const response = await api.post('/v1/chat/completions', question('hi'))
    await response.text()
    t.equal(response.status, status)
    if (status === 200) t.equal(response.headers.get('x-headgate-cache'), cache)
  }
  t.equal(upstream.requests.length, 1)
})

t.test('deferred calls wait for the verdict before they are accepted', async t => {
  const { service, decide, stage } = await slowService(t)
  const upstream = await fakeUpstream(scriptOf(protocols.chat))
  t.teardown(upstream.close)
  const { api, keys } = await adminGateway(t, {
    providers: [chatUpstreamAt(upstream.url)],
    guards: [stage],
    deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 100, maxBytesPerKey: 1e6 }
  })
  const { key } = await keys.create({ name: 'caller' })
  const headers = { authorization: `Bearer ${key}` }
  const later: ReadonlyArray<readonly [path: string, body: Json]> = [
    ['/v1/chat/completions', question('hi', { deferred: true })],
    ['/v1/responses', { model: protocols.chat.model, input: 'hi', store: true, background: true }]
  ]
  for (const [number, [path, body]] of later.entries()) {
    const answered = api.post(path, body, { headers })
    await service.request(number)
    decide(refuse)
    t.equal((await answered).status, 400, path)
  }
  t.equal(upstream.requests.length, 0)
})
