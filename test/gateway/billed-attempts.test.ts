/** Which attempts a call is billed for: those that a provider may have worked on, and no others. */

import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import {
  chatAnswer, completionOf, fakeUpstream, toolCallAnswer, type FakeUpstream, type Script
} from '../support/upstream.ts'
import { outlast, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
/** Some 5,000 tokens: 5,000,000 billionths of a dollar. */
const long = { model: 'openai/m', messages: [{ role: 'user', content: 'word '.repeat(4000) }] }
const price = { input: 1, output: 2 }
const models = [
  modelSettings('openai/m', { price }),
  modelSettings('openai/n', { price }),
  modelSettings('xai/grok-4.6', { price }),
  modelSettings('openai/judge', { price: { input: 10, output: 20 } })
]
const judgeUsage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 }
const judgeNanoUsd = 10_200_000
const guard = { name: 'inj', use: 'prompt_injection', model: 'openai/judge', at: ['request'] } as const
const softLimit: PartyLimits = { budget: { usd: 10, per: 'month' }, strict: false }
const busy = { pieces: ['{"error":{"message":"busy"}}'] }

interface Chat { readonly model: string, readonly messages: ReadonlyArray<{ readonly content: string }> }

/** Returns what a judge answers that has found an injection. */
function found (request: unknown): Script {
  const { messages } = request as Chat // what the gateway sends
  const word = /Answer with the word (\w+) if/.exec(messages.at(-1)?.content ?? '')?.[1] ?? ''
  return { pieces: [chatAnswer(word, judgeUsage)] }
}

/** Returns what a judge answers that has found nothing. */
function passed (request: unknown): Script {
  const { messages } = request as Chat // what the gateway sends
  const word = / with the word (\w+), and nothing else\.$/.exec(messages.at(-1)?.content ?? '')?.[1] ?? ''
  return { pieces: [chatAnswer(word, judgeUsage)] }
}

function modelOf (request: unknown): string {
  return (request as Chat).model
}

function provider (url: string, parts: Partial<ProviderSettings> = {}): ProviderSettings {
  return upstreamAt(url, 'openai', 'openai', { quirks: { responsesApi: false }, ...parts })
}

/** Sends a request whose caller leaves before its answer. */
async function leaving (
  t: Test, api: TestGateway, body: object, { signal }: AbortController, to: string = path
): Promise<void> {
  await t.rejects(api.post(to, body, { signal }), { name: 'AbortError' })
}

/** Returns how many requests wait for a connection. */
function waitingIn ({ gateway }: TestGateway): number | undefined {
  return gateway.services.providers.get('openai')?.transport.load?.().waiting
}

async function start (
  t: Test,
  script: Parameters<typeof fakeUpstream>[0],
  parts: (url: string) => Partial<Settings>,
  limits?: PartyLimits
): Promise<{ readonly upstream: FakeUpstream, readonly api: TestGateway, readonly rows: UsageRow[] }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const rows: UsageRow[] = []
  const keys = limits === undefined ? {} : { [testKey]: { id: 'key-1', name: 'test', limits } }
  const api = await testGateway(t, { models, ...parts(upstream.url) }, keys, {
    database, observers: [(_, row) => { if (row !== undefined) rows.push(row) }]
  })
  return { upstream, api, rows }
}

for (const status of [503, 429]) {
  t.test(`a caller who leaves during the wait after a ${status} is not billed`, async t => {
    const { api, rows, upstream } = await start(
      t,
      { status, headers: { 'retry-after': '5' }, ...busy },
      url => ({ providers: [provider(url, { retries: 2 })] })
    )
    const leave = new AbortController()
    const asked = leaving(t, api, long, leave)
    await upstream.request(0)
    await outlast(100)
    leave.abort()
    await asked
    await until(() => rows.length === 1, 'the row')
    t.equal(rows[0]?.cost_nano_usd ?? 0, 0)
  })
}

t.test('a provider that refuses after the caller has left is not paid', async t => {
  const { promise: refused, resolve: refuse } = withResolvers<void>()
  const { api, rows, upstream } = await start(
    t,
    async () => {
      await refused
      return { status: 503, ...busy }
    },
    url => ({ providers: [provider(url)] }),
    softLimit
  )
  const leave = new AbortController()
  const asked = leaving(t, api, long, leave)
  await upstream.request(0)
  leave.abort()
  await asked
  await outlast(100)
  refuse()
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.cost_nano_usd ?? 0, 0)
})

t.test('a turn of a tool loop that only failed is not billed', async t => {
  const tools = await startToolServer(t, { says: 'x '.repeat(20_000) })
  const { api, rows, upstream } = await start(
    t,
    (_, number) => number === 0
      ? { pieces: [toolCallAnswer('echo', {}, usage)] }
      : { status: 503, headers: { 'retry-after': '5' }, ...busy },
    url => ({
      providers: [provider(url, { retries: 1 })],
      tools: { ...settings().tools, resultBytes: 1_000_000, allowedHosts: ['127.0.0.1'] }
    })
  )
  const leave = new AbortController()
  const body = { ...long, messages: 'hi', max_tokens: 50, mcp_servers: tools.url }
  const asked = leaving(t, api, body, leave)
  await upstream.request(1)
  await outlast(100)
  leave.abort()
  await asked
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.prompt_tokens, 100)
})

t.test('a wasted request of a later turn is estimated with the prompt of its turn', async t => {
  const tools = await startToolServer(t, { says: 'x '.repeat(20_000) })
  const { api, rows } = await start(
    t,
    (_, number) => ({ pieces: [number === 0 ? toolCallAnswer('echo', {}, usage) : 'half a {'] }),
    url => ({
      providers: [provider(url)],
      tools: { ...settings().tools, resultBytes: 1_000_000, allowedHosts: ['127.0.0.1'] }
    })
  )
  await (await api.post(path, { ...long, messages: 'hi', max_tokens: 50, mcp_servers: tools.url })).text()
  await until(() => rows.length === 1, 'the row')
  t.ok(Number(rows[0]?.prompt_tokens) > 5000, String(rows[0]?.prompt_tokens))
})

t.test('what a guard has cost is not refunded with a deferred answer', async t => {
  for (const limits of [undefined, softLimit, { budget: { usd: 10, per: 'month' } } as const]) {
    const { api, rows } = await start(
      t,
      ({ method, json }) => {
        if (method !== 'POST') return { pieces: [chatAnswer('later', usage)] }
        return modelOf(json) === 'judge' ? passed(json) : { pieces: ['{"request_id":"f15c114e"}'] }
      },
      url => ({ providers: [upstreamAt(url, 'xai', 'xai'), provider(url)], guards: [guard] }),
      limits
    )
    const body = { model: 'xai/grok-4.6', messages: 'hi', deferred: true, max_completion_tokens: 50 }
    const { request_id: id } = await (await api.post(path, body)).json() as { request_id: string }
    await (await api.get(`/v1/chat/deferred-completion/${id}`)).text()
    await until(() => rows.length === 2, 'two rows')
    const sum = rows.reduce((all, row) => all + Number(row.cost_nano_usd), 0)
    t.equal(sum, judgeNanoUsd + 100 * 1000 + 10 * 2000)
  }
})

t.test('a provider at work is billed when a guard refuses, whatever routes were left out', async t => {
  for (const model of ['openai/m', ['openai/unpriced', 'openai/m']]) {
    const { promise: atWork, resolve: arrived } = withResolvers<void>()
    const { api, rows } = await start(
      t,
      async ({ json }) => {
        if (modelOf(json) !== 'judge') {
          arrived()
          return { silent: true }
        }
        await atWork
        return found(json)
      },
      url => ({ providers: [provider(url)], guards: [{ ...guard, during: true }] }),
      softLimit
    )
    t.equal((await api.post(path, { ...long, model })).status, 400)
    await until(() => rows.length === 1, 'the row')
    t.ok(Number(rows[0]?.cost_nano_usd) > judgeNanoUsd + 5_000_000, String(rows[0]?.cost_nano_usd))
  }
})

t.test('parts of a call that all failed are not billed when a guard refuses', async t => {
  const { promise: failed, resolve: fail } = withResolvers<void>()
  const { api, rows } = await start(
    t,
    async ({ json }) => {
      if (modelOf(json) !== 'judge') {
        return { status: 429, headers: { 'retry-after': '5' }, ...busy }
      }
      await failed
      return found(json)
    },
    url => ({
      providers: [provider(url, { quirks: { responsesApi: false, multipleChoices: false } })],
      guards: [{ ...guard, during: true }]
    }),
    softLimit
  )
  const asked = api.post(path, { ...long, n: 3 })
  await until(() => [...api.gateway.services.routingState.cooldowns('key-1')].length > 0, 'the failure')
  fail()
  t.equal((await asked).status, 400)
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.cost_nano_usd, judgeNanoUsd)
})

const page = '<!doctype html><title>Maintenance</title>'
const nothing = [
  ['a page of HTML', [page]],
  ['a large page of HTML', [page.padEnd(300_000)]],
  ['no bytes', []],
  ['white space', ['\n \n']]
] as const
for (const [title, pieces] of nothing) {
  t.test(`an answer of ${title} is not billed for embeddings`, async t => {
    const { api, rows } = await start(t, { pieces }, url => ({ providers: [provider(url)] }), softLimit)
    const body = { model: 'openai/m', input: 'word '.repeat(4000) }
    t.equal((await api.post('/v1/embeddings', body)).status, 502)
    await until(() => rows.length === 1, 'the row')
    t.equal(rows[0]?.cost_nano_usd, 0)
  })
}

for (const stream of [false, true]) {
  for (const [title, pieces] of nothing) {
    t.test(`an answer of ${title} is not billed, ${stream ? 'streamed' : 'complete'}`, async t => {
      const { api, rows } = await start(t, { pieces }, url => ({ providers: [provider(url)] }), softLimit)
      t.equal((await api.post(path, { ...long, stream })).status, 502)
      await until(() => rows.length === 1, 'the row')
      t.same([rows[0]?.cost_nano_usd, rows[0]?.prompt_tokens ?? 0], [0, 0])
    })
  }
}

t.test('a part of a split request that breaks is billed as its own choices', async t => {
  const request = { model: 'openai/m', messages: 'hi', n: 3, max_tokens: 500 }
  const rowOf = async (answers: readonly string[]): Promise<UsageRow | undefined> => {
    const { api, rows } = await start(t, (_, number) => ({ pieces: [answers[number] ?? ''] }), url => ({
      providers: [provider(url, { quirks: { responsesApi: false, multipleChoices: false } })]
    }), softLimit)
    t.equal((await api.post(path, request)).status, 502)
    await until(() => rows.length === 1, 'the row')
    return rows[0]
  }
  const [whole, broken] = [chatAnswer('hi', usage), 'half a {']
  t.equal((await rowOf([whole, whole, broken]))?.completion_tokens, 10 + 10 + 500)
  const silent = JSON.stringify({ ...JSON.parse(whole) as object, usage: undefined })
  t.equal((await rowOf([silent, whole, broken]))?.completion_tokens, 500 + 10 + 500, 'one reports no usage')
})

t.test('parts at work are billed when another one fails, each as its own choices', async t => {
  const { api, rows } = await start(
    t, (_, number) => number === 0 ? { pieces: ['half a {'] } : { silent: true },
    url => ({
      providers: [provider(url, { quirks: { responsesApi: false, multipleChoices: false } })]
    }),
    softLimit
  )
  const request = { model: 'openai/m', messages: 'hi', n: 3, max_tokens: 500 }
  t.equal((await api.post(path, request)).status, 502)
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.completion_tokens, 3 * 500)
})

t.test('parts at work are billed when the caller leaves after another one was refused', async t => {
  const { api, rows, upstream } = await start(
    t, (_, number) => number === 0 ? { status: 429, ...busy } : { silent: true },
    url => ({
      providers: [provider(url, { quirks: { responsesApi: false, multipleChoices: false } })]
    })
  )
  const leave = new AbortController()
  const asked = leaving(t, api, { ...long, n: 3 }, leave)
  await upstream.request(2)
  await outlast(100)
  leave.abort()
  await asked
  await until(() => rows.length === 1, 'the row')
  t.ok(Number(rows[0]?.prompt_tokens) > 4000, String(rows[0]?.prompt_tokens))
})

t.test('parts at work are billed when another one was refused for its content', async t => {
  const { api, rows, upstream } = await start(
    t,
    async (_, number) => {
      if (number > 0) return { silent: true }
      await upstream.request(2)
      return { status: 400, pieces: ['{"error":{"message":"no","code":"content_policy_violation"}}'] }
    },
    url => ({
      providers: [provider(url, { quirks: { responsesApi: false, multipleChoices: false } })]
    })
  )
  const request = { model: 'openai/m', messages: 'hi', n: 3, max_tokens: 500 }
  t.equal((await api.post(path, request)).status, 400)
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.completion_tokens, 2 * 500)
})

t.test('parts of a call that its caller has left are billed once, whether they break or not', async t => {
  const cases = [[[], 200, 20], [[1], 5101, 510], [[0, 1], 10002, 1000]] as const
  for (const [broken, prompt, completion] of cases) {
    const { promise: left, resolve: leaves } = withResolvers<void>()
    const { api, rows, upstream } = await start(
      t,
      async (_, number) => {
        await left
        return { pieces: [broken.some(one => one === number) ? 'half a {' : chatAnswer('hi', usage)] }
      },
      url => ({
        providers: [provider(url, { quirks: { responsesApi: false, multipleChoices: false }, retries: 0 })]
      }),
      softLimit
    )
    const leave = new AbortController()
    const asked = leaving(t, api, { ...long, n: 2, max_tokens: 500 }, leave)
    await upstream.request(1)
    leave.abort()
    await asked
    await until(() => api.gateway.services.abandonedAnswers.size === 1, 'the answer without a caller')
    leaves()
    await until(() => rows.length === 1, 'the row')
    t.same([rows[0]?.prompt_tokens, rows[0]?.completion_tokens], [prompt, completion], broken.join())
  }
})

t.test('images of a split request are billed one by one', async t => {
  const image = JSON.stringify({ candidates: [{
    content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }] }, finishReason: 'STOP'
  }] })
  const { api, rows } = await start(
    t, (_, number) => ({ pieces: [number === 2 ? 'half a {' : image] }),
    url => ({
      providers: [upstreamAt(url, 'google', 'google', { retries: 0 })],
      models: [modelSettings('google/i', { price: { images: [{ usd: 0.04 }] } })]
    }),
    softLimit
  )
  t.equal((await api.post('/v1/images/generations', { model: 'google/i', prompt: 'x', n: 3 })).status, 502)
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.cost_nano_usd, 3 * 40_000_000)
})

t.test('a part of a list of inputs that breaks is billed as its own inputs', async t => {
  const vectors = (count: number): string =>
    JSON.stringify({ embeddings: Array.from({ length: count }, () => ({ values: [1, 2] })) })
  const rowOf = async (last: string): Promise<UsageRow | undefined> => {
    const { api, rows } = await start(t, ({ json }) => {
      const { requests } = json as { readonly requests: readonly unknown[] } // as its API takes them
      return { pieces: [requests.length === 50 ? last : vectors(requests.length)] }
    }, url => ({
      providers: [upstreamAt(url, 'google', 'google')],
      models: [modelSettings('google/e', { price: { input: 1 } })]
    }), softLimit)
    const input = Array.from({ length: 250 }, () => 'word '.repeat(20))
    await (await api.post('/v1/embeddings', { model: 'google/e', input })).text()
    await until(() => rows.length === 1, 'the row')
    return rows[0]
  }
  const [whole, broken] = [await rowOf(vectors(50)), await rowOf('half a {')]
  t.ok(Number(whole?.prompt_tokens) > 1000)
  t.equal(broken?.prompt_tokens, whole?.prompt_tokens)
})

for (const limits of [undefined, softLimit]) {
  const title = limits === undefined ? 'no' : 'a'
  t.test(`a translated request that waits for a connection is not billed, with ${title} budget`, async t => {
    const [answered, freed] = [withResolvers<void>(), withResolvers<void>()]
    const { api, rows, upstream } = await start(t, async ({ path }) => {
      if (path.endsWith('/embeddings')) {
        await freed.promise
        return { status: 400, ...busy }
      }
      await answered.promise
      return { status: 404, pieces: ['{"error":{"message":"Not Found"}}'] }
    }, url => ({
      providers: [upstreamAt(url, 'openai', 'openai', { maxConnections: 1, retries: 0 })]
    }), limits)
    const leave = new AbortController()
    const body = { model: 'openai/m', input: 'word '.repeat(4000), store: false }
    const asked = leaving(t, api, body, leave, '/v1/responses')
    await upstream.request(0)
    const other = api.post('/v1/embeddings', { model: 'openai/m', input: 'hi' })
    await until(() => waitingIn(api) === 1, 'the other call')
    answered.resolve()
    await upstream.request(1)
    await until(() => waitingIn(api) === 1, 'the translated request')
    leave.abort()
    await asked
    await until(() => waitingIn(api) === 0, 'its end')
    freed.resolve()
    await (await other).text()
    await until(() => rows.length === 2, 'both rows')
    t.same(rows.map(row => row.cost_nano_usd ?? 0), [0, 0])
    t.equal(upstream.requests.length, 2)
  })
}

t.test('a deferred answer without usage costs what its receipt did', async t => {
  for (const limits of [softLimit, { budget: { usd: 10, per: 'month' } } as const]) {
    const { api, rows } = await start(
      t,
      ({ method }) => ({
        pieces: [method === 'POST'
          ? '{"request_id":"f15c114e"}'
          : completionOf({ content: 'later, after many words '.repeat(20) })]
      }),
      url => ({ providers: [upstreamAt(url, 'xai', 'xai')] }),
      limits
    )
    const body = { model: 'xai/grok-4.6', messages: 'hi', deferred: true, max_completion_tokens: 50 }
    const { request_id: id } = await (await api.post(path, body)).json() as { request_id: string }
    t.match(await (await api.get(`/v1/chat/deferred-completion/${id}`)).text(), /after many words/)
    await until(() => rows.length === 2, 'two rows')
    const [receipt, answer] = rows
    t.ok(Number(receipt?.cost_nano_usd) >= 50 * 2000, String(receipt?.cost_nano_usd))
    t.equal(answer?.cost_nano_usd, 0)
  }
})

for (const limits of [undefined, softLimit, { budget: { usd: 10, per: 'month' } } as const]) {
  const title = limits === undefined ? 'no' : limits.strict === false ? 'a soft' : 'a strict'
  t.test(`a call that ends while it waits for a connection is not billed, with ${title} budget`, async t => {
    const { api, rows, upstream } = await start(t, { silent: true }, url => ({
      providers: [provider(url, { maxConnections: 1 })]
    }), limits)
    const [leaveLast, leave] = [new AbortController(), new AbortController()]
    const first = leaving(t, api, long, leaveLast)
    await upstream.request(0)
    t.equal((await api.post(path, { ...long, timeout: 0.2 })).status, 504)
    const left = leaving(t, api, long, leave)
    await until(() => waitingIn(api) === 1, 'a wait')
    leave.abort()
    await left
    await until(() => rows.length === 2, 'both rows')
    t.same(rows.map(row => row.cost_nano_usd ?? 0), [0, 0])
    t.same(rows.map(row => row.prompt_tokens ?? 0), [0, 0])
    leaveLast.abort()
    await first
    await until(() => waitingIn(api) === 0, 'no wait')
    t.equal(upstream.requests.length, 1)
  })
}

t.test('an inspection that waits for a connection when its caller leaves is not billed', async t => {
  const { api, rows, upstream } = await start(t, { silent: true }, url => ({
    providers: [provider(url, { maxConnections: 1 })], guards: [guard]
  }))
  const [leave, leaveLast] = [new AbortController(), new AbortController()]
  const asked = leaving(t, api, { ...long, model: 'openai/judge' }, leaveLast)
  await upstream.request(0)
  const second = leaving(t, api, long, leave)
  await until(() => waitingIn(api) === 1, 'a wait')
  leave.abort()
  await second
  await until(() => rows.length === 1, 'the row')
  t.equal(rows[0]?.cost_nano_usd ?? 0, 0)
  leaveLast.abort()
  await asked
})

t.test('an inspection whose answer breaks off is billed', async t => {
  const { api, rows } = await start(
    t,
    ({ json }) => modelOf(json) === 'judge'
      ? {
          pieces: [chatAnswer('x', judgeUsage).slice(0, 60)],
          headers: { 'content-length': '500' },
          then: 'fin'
        }
      : { pieces: [chatAnswer('hi', usage)] },
    url => ({ providers: [provider(url)], guards: [guard] }),
    softLimit
  )
  await (await api.post(path, long)).text()
  await until(() => rows.length === 1, 'the row')
  t.ok(Number(rows[0]?.cost_nano_usd) > 10_000_000, String(rows[0]?.cost_nano_usd))
})

t.test('calls with their own provider key are hedged as rarely as others', async t => {
  const { api, upstream } = await start(
    t,
    async ({ json }) => {
      await outlast(modelOf(json) === 'm' ? 150 : 60)
      return { pieces: [chatAnswer('hi', usage)] }
    },
    url => ({
      providers: [provider(url)],
      routes: [{ name: 'quick', strategy: 'in_order', models: ['openai/m', 'openai/n'], hedgeAfterMs: 20 }]
    })
  )
  for (let call = 0; call < 10; call++) {
    const headers = { 'x-provider-key': 'sk-own' }
    await (await api.post(path, { model: 'quick', messages: 'hi' }, { headers })).text()
  }
  t.ok(upstream.requests.length <= 12, `${upstream.requests.length} requests`)
})
