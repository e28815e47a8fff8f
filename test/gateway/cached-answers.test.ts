/**
 * Cached answers in every dialect, with providers of every protocol, complete and streamed.
 */

import t from 'tap'
import { request } from 'node:http'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { dialects, messagesIn, protocols, scriptOf, takenBy, type Json } from '../support/conversations.ts'
import { chatUpstreamAt, testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import {
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { eventually, until } from '../support/until.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { SharedAnswers } from '../../lib/coordination/shared-answers.ts'
import type { GatewayCoordination } from '../../lib/gateway.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

type Answers = NonNullable<Settings['cache']['answers']>

const answers: Answers = { ttlMs: 60_000, maxBytes: 1024 * 1024, scope: 'key', when: 'always' }
const hello: Json = { model: 'openai/m', messages: [{ role: 'user', content: 'hello' }] }
const path = '/v1/chat/completions'

interface Started extends TestGateway {
  readonly upstream: FakeUpstream
  readonly rows: UsageRow[]
}

type Scripts = Script | ((request: SeenRequest, number: number) => Script | Promise<Script>)

async function start (
  t: Test,
  script: Scripts,
  parts: Partial<Settings> & { readonly answers?: Partial<Answers> } = {},
  keys: Readonly<Record<string, ApiKey>> = {}
): Promise<Started> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const rows: UsageRow[] = []
  const { answers: given, ...others } = parts
  const api = await testGateway(
    t,
    { providers: [chatUpstreamAt(upstream.url)], cache: { answers: { ...answers, ...given } }, ...others },
    keys,
    {
      observers: [
        (_call, row) => {
          if (row !== undefined) rows.push(row)
        }
      ]
    }
  )
  return { ...api, upstream, rows }
}

/** An answer with the number of requests so far. */
function counting (change: (answer: Json) => Json = answer => answer): Scripts {
  return (_request, number) => ({
    headers: { 'content-type': 'application/json' },
    pieces: [JSON.stringify(change(completion(`answer ${number}`)))]
  })
}

function completion (content: string, finish = 'stop'): Json {
  return {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    choices: [{ index: 0, finish_reason: finish, message: { role: 'assistant', content } }]
  }
}

async function ask (
  api: TestGateway,
  body: Json,
  headers: Record<string, string> = {}
): Promise<readonly [cache: string | null, text: string]> {
  const response = await api.post(path, body, { headers })
  const answer = (await response.json()) as {
    readonly choices?: ReadonlyArray<{ readonly message: { readonly content: string } }>
  }
  return [
    response.headers.get('x-headgate-cache'),
    answer.choices?.[0]?.message.content ?? JSON.stringify(answer)
  ]
}

/** Removes what is new in every answer. */
function plain (texts: readonly string[]): string[] {
  return texts.map(text =>
    text.replaceAll(/"(?:id|item_id|created|created_at|completed_at)":(?:"[^"]*"|\d+)/g, '')
  )
}

for (const [name, protocol] of Object.entries(protocols)) {
  t.test(`an equal call gets the cached answer in any dialect with ${name}`, async t => {
    const api = await start(t, scriptOf(protocol), { providers: [] })
    await api.gateway.reload({
      ...settings({ cache: { answers } }),
      providers: [protocol.provider(api.upstream.url)]
    })
    let asked = 0
    for (const [dialect, { path, request, textsOf }] of Object.entries(dialects)) {
      for (const stream of [false, true]) {
        const title = `${dialect} ${stream ? 'streamed' : 'complete'}`
        const body = { ...takenBy(protocol, request(protocol.model, `there, ${stream}`)), stream }
        const read = async (): Promise<readonly [string | null, string[]]> => {
          const response = await api.post(path, body)
          const text = await response.text()
          t.equal(response.status, 200, `${title}: ${text.slice(0, 300)}`)
          t.equal(
            response.headers
              .get('content-type')
              ?.startsWith(stream ? 'text/event-stream' : 'application/json'),
            true
          )
          return [
            response.headers.get('x-headgate-cache'),
            plain(textsOf(stream ? messagesIn(text) : [JSON.parse(text) as Json]))
          ]
        }
        const [first, again] = [await read(), await read()]
        t.equal(first[0], 'miss', title)
        t.equal(again[0], 'hit', title)
        t.same(again[1], first[1], title)
        t.ok(
          first[1].some(text => text !== ''),
          title
        )
        t.equal(api.upstream.requests.length, ++asked, title)
      }
    }
  })
}

t.test(
  'if translated, a cached stream is returned as a complete answer, and vice versa',
  async t => {
    const { chat } = protocols
    const api = await start(t, scriptOf(chat))
    for (const first of [true, false]) {
      const body = { ...hello, seed: Number(first) }
      const response = await api.post(path, { ...body, stream: first })
      const given = dialects.chat.textsOf(
        first ? messagesIn(await response.text()) : [(await response.json()) as Json]
      )
      const other = await api.post(path, { ...body, stream: !first })
      t.equal(other.headers.get('x-headgate-cache'), 'hit')
      t.same(
        dialects.chat.textsOf(first ? [(await other.json()) as Json] : messagesIn(await other.text())),
        given
      )
    }
    t.equal(api.upstream.requests.length, 2)
  }
)

t.test('a cached provider answer is returned unchanged, only in its own form', async t => {
  const { anthropic } = protocols
  const api = await start(t, scriptOf(anthropic), { providers: [] })
  await api.gateway.reload({
    ...settings({ cache: { answers } }),
    providers: [anthropic.provider(api.upstream.url)]
  })
  const body = { model: anthropic.model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  const read = async (stream: boolean): Promise<readonly [string | null, string]> => {
    const response = await api.post('/v1/messages', { ...body, stream })
    return [response.headers.get('x-headgate-cache'), await response.text()]
  }
  const complete = await read(false)
  t.equal((await read(true))[0], 'miss')
  const streamed = await read(true)
  t.equal(streamed[0], 'hit')
  t.match(streamed[1], /event: message_start[^]*event: ping[^]*event: message_stop/)
  t.same([complete[0], (await read(false))[0]], ['miss', 'miss'], 'the other form replaced it')
})

t.test('a hit costs nothing and is marked, and its answer repeats the usage of the first', async t => {
  const api = await start(t, counting())
  const first = (await (await api.post(path, hello)).json()) as Json
  const again = (await (await api.post(path, hello)).json()) as Json
  await until(() => api.rows.length === 2, 'the rows')
  t.match(api.rows, [
    { cached: null, prompt_tokens: 3, completion_tokens: 2, attempts: 1, model: 'openai/m' },
    {
      cached: 1,
      prompt_tokens: null,
      completion_tokens: null,
      cost_nano_usd: 0,
      attempts: 0,
      model: 'openai/m',
      provider: 'openai',
      estimated: 0,
      outcome: 'ok'
    }
  ])
  t.same(again['usage'], first['usage'])
  t.not(again['id'], first['id'])
  t.match(
    api.lines.filter(({ msg }) => msg === 'call'),
    [{ cache: 'miss' }, { cache: 'hit', attempts: 0 }]
  )
})

t.test('a hit counts as a request of its key, but not towards its tokens', async t => {
  const api = await start(
    t,
    counting(),
    {},
    { limited: { id: 'key-2', name: 'limited', limits: { requestsPerMinute: 2, tokensPerMinute: 60 } } }
  )
  const headers = { authorization: 'Bearer limited' }
  const body = { ...hello, max_tokens: 20 }
  t.same([(await ask(api, body, headers))[0], (await ask(api, body, headers))[0]], ['miss', 'hit'])
  t.equal((await api.post(path, body, { headers })).status, 429)
})

t.test('a caller controls caching by cache-control, and by the LiteLLM field', async t => {
  const api = await start(t, counting())
  const steps: ReadonlyArray<
    readonly [title: string, body: Json, headers: Record<string, string>, cache: string, answer: number]
  > = [
    ['first', {}, {}, 'miss', 0],
    ['again', {}, {}, 'hit', 0],
    ['no-store', {}, { 'cache-control': 'no-store' }, 'bypass', 1],
    ['kept nothing', {}, {}, 'hit', 0],
    ['no-cache', {}, { 'cache-control': 'No-Cache' }, 'miss', 2],
    ['kept the new one', {}, {}, 'hit', 2],
    ['max-age', {}, { 'cache-control': 'max-age=60' }, 'hit', 2],
    ['max-age of 0', {}, { 'cache-control': 'max-age=0' }, 'miss', 3],
    ['LiteLLM: no-store', { cache: { 'no-store': true } }, {}, 'bypass', 4],
    ['LiteLLM: no-cache', { cache: { 'no-cache': true } }, {}, 'miss', 5],
    ['LiteLLM: s-maxage', { cache: { 's-maxage': 60 } }, {}, 'hit', 5],
    ['LiteLLM: s-maxage of 0', { cache: { 's-maxage': 0 } }, {}, 'miss', 6],
    ['LiteLLM: namespace', { cache: { namespace: 'mine' } }, {}, 'miss', 7],
    ['LiteLLM: the same namespace', { cache: { namespace: 'mine' } }, {}, 'hit', 7],
    ['LiteLLM: ttl', { cache: { ttl: 0, 'no-cache': true } }, {}, 'miss', 8],
    ['which kept nothing', {}, {}, 'hit', 6],
    ['false', { cache: false }, {}, 'bypass', 9],
    ['true', { cache: true }, {}, 'hit', 6]
  ]
  for (const [title, body, headers, cache, answer] of steps) {
    t.same(await ask(api, { ...hello, ...body }, headers), [cache, `answer ${answer}`], title)
  }
  for (const { json } of api.upstream.requests) {
    t.notOk(Object.hasOwn(json as Json, 'cache'), 'it is not sent on')
  }
  const wrong = await api.post(path, { ...hello, cache: { ttl: 'long' } })
  t.equal(wrong.status, 422)
  t.match(await wrong.json(), { detail: [{ loc: ['body', 'cache'] }] })
})

t.test('the field is also removed from direct requests', async t => {
  for (const [dialect, protocol] of [
    ['messages', protocols.anthropic],
    ['responses', protocols.responses]
  ] as const) {
    const { path, request } = dialects[dialect]
    const api = await start(t, scriptOf(protocol), { providers: [] })
    await api.gateway.reload({
      ...settings({ cache: { answers } }),
      providers: [protocol.provider(api.upstream.url)]
    })
    const body = { ...request(protocol.model, 'there'), cache: { namespace: 'mine' } }
    t.equal((await api.post(path, body)).headers.get('x-headgate-cache'), 'miss')
    t.equal((await api.post(path, body)).headers.get('x-headgate-cache'), 'hit')
    const { cache: _, ...rest } = body as Json
    t.match(api.upstream.requests[0]?.json, {
      ...rest,
      model: protocol.model.slice(protocol.model.indexOf('/') + 1)
    })
    t.notOk(Object.hasOwn(api.upstream.requests[0]?.json as Json, 'cache'))
  }
})

t.test(
  'if so configured, only requested or deterministic answers are cached',
  async t => {
    const asked = await start(t, counting(), { answers: { when: 'asked' } })
    const bodies = [
      hello,
      hello,
      { ...hello, cache: true },
      { ...hello, cache: true },
      { ...hello, cache: {} }
    ]
    const seen: unknown[] = []
    for (const body of bodies) seen.push((await ask(asked, body))[0])
    t.same(seen, ['bypass', 'bypass', 'miss', 'hit', 'hit'])
    const same = await start(t, counting(), { answers: { when: 'deterministic' } })
    const results: unknown[] = []
    for (const body of [
      hello,
      { ...hello, temperature: 1 },
      { ...hello, temperature: 0 },
      { ...hello, temperature: 0 },
      { ...hello, seed: 7 },
      { ...hello, seed: 7 }
    ]) {
      results.push((await ask(same, body))[0])
    }
    t.same(results, ['bypass', 'bypass', 'miss', 'hit', 'miss', 'hit'])
  }
)

t.test(
  'failed and filtered answers, and those with signed reasoning, are not cached',
  async t => {
    const signed: Script = {
      headers: { 'content-type': 'application/json' },
      pieces: [
        JSON.stringify({
          ...protocols.anthropic.complete,
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
            { type: 'text', text: 'ok' }
          ]
        })
      ]
    }
    const cases: ReadonlyArray<readonly [title: string, body: Json, script: Script, path?: string]> = [
      [
        'an error',
        hello,
        {
          status: 400,
          headers: { 'content-type': 'application/json' },
          pieces: ['{"error":{"message":"no"}}']
        }
      ],
      [
        'a filtered answer',
        hello,
        {
          headers: { 'content-type': 'application/json' },
          pieces: [JSON.stringify(completion('', 'content_filter'))]
        }
      ],
      [
        'a broken stream',
        { ...hello, stream: true },
        { headers: eventStream, pieces: protocols.chat.frames.slice(0, 5), then: 'reset' }
      ],
      [
        'signed reasoning, direct',
        { model: 'anthropic/m', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
        signed,
        '/v1/messages'
      ],
      ['signed reasoning, translated', { ...hello, model: 'anthropic/m' }, signed]
    ]
    for (const [title, body, script, to = path] of cases) {
      const api = await start(t, script)
      await api.gateway.reload({
        ...settings({ cache: { answers } }),
        providers: [chatUpstreamAt(api.upstream.url), upstreamAt(api.upstream.url, 'anthropic', 'anthropic')]
      })
      for (const number of [1, 2]) {
        const response = await api.post(to, body)
        await response.text().catch(() => undefined) // the failed one
        t.not(response.headers.get('x-headgate-cache'), 'hit', title)
        t.ok(api.upstream.requests.length >= number, title)
      }
    }
  }
)

t.test('stateful and large calls are not cached', async t => {
  const api = await start(t, counting())
  const cases: ReadonlyArray<readonly [title: string, body: Json, headers?: Record<string, string>]> = [
    ['stored at the provider', { ...hello, store: true }],
    ['with a provider key from the caller', hello, { 'x-provider-key': 'sk-own' }],
    ['large', { ...hello, messages: [{ role: 'user', content: 'x'.repeat(300_000) }] }],
    [
      'with server tools',
      { ...hello, mcp_servers: ['https://example.com/mcp'], automatic_tool_execution: false }
    ]
  ]
  for (const [title, body, headers = {}] of cases) {
    const response = await api.post(path, body, { headers })
    await response.text()
    // a call with unknown MCP servers fails before it is answered
    t.ok([null, 'bypass'].includes(response.headers.get('x-headgate-cache')), title)
  }
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const upstream = await fakeUpstream(scriptOf(protocols.responses))
  t.teardown(upstream.close)
  const storing = await testGateway(
    t,
    { providers: [protocols.responses.provider(upstream.url)], cache: { answers } },
    {},
    { database }
  )
  const body = { model: protocols.responses.model, input: 'hi' }
  t.equal((await storing.post('/v1/responses', body)).headers.get('x-headgate-cache'), 'bypass')
  t.equal(
    (await storing.post('/v1/responses', { ...body, store: false })).headers.get('x-headgate-cache'),
    'miss'
  )
})

t.test('an answer is not shared with another key, project, model, endpoint, body or provider', async t => {
  const keys: Readonly<Record<string, ApiKey>> = {
    other: { id: 'key-2', name: 'other' },
    narrow: { id: 'key-1', name: 'test', models: ['openai/*'] },
    here: { id: 'key-3', name: 'here', project: { id: 'p-1', name: 'one' } },
    beside: { id: 'key-4', name: 'beside', project: { id: 'p-1', name: 'one' } },
    there: { id: 'key-5', name: 'there', project: { id: 'p-2', name: 'two' } }
  }
  const differences: ReadonlyArray<
    readonly [title: string, change: Json, headers?: Record<string, string>]
  > = [
    ['another key', {}, { authorization: 'Bearer other' }],
    ['the same key with other rights', {}, { authorization: 'Bearer narrow' }],
    ['another key of a project', {}, { authorization: 'Bearer here' }],
    ['another model', { model: 'openai/n' }],
    ['more models', { model: ['openai/m', 'openai/n'] }],
    ['settings of a model', { model: { model: 'openai/m', settings: { temperature: 0.5 } } }],
    ['another message', { messages: [{ role: 'user', content: 'hello ' }] }],
    ['a role', { messages: [{ role: 'system', content: 'hello' }] }],
    ['a name', { messages: [{ role: 'user', name: 'x', content: 'hello' }] }],
    ['a temperature', { temperature: 1 }],
    ['an unknown field', { of_the_future: 1 }],
    ['a tool', { tools: [{ type: 'function', function: { name: 'f' } }] }],
    ['a format', { response_format: { type: 'json_object' } }]
  ]
  const api = await start(t, counting(), {}, keys)
  t.equal((await ask(api, hello))[0], 'miss')
  for (const [title, change, headers] of differences) {
    t.equal((await ask(api, { ...hello, ...change }, headers))[0], 'miss', title)
  }
  for (const [title, change] of [
    ['a user', { user: 'u' }],
    ['metadata', { metadata: { a: 'b' } }]
  ] as const) {
    t.equal((await ask(api, { ...hello, ...change }))[0], 'hit', title)
  }

  const shared = await start(t, counting(), { answers: { scope: 'project' } }, keys)
  const results: unknown[] = []
  for (const key of ['here', 'beside', 'there', testKey]) {
    results.push((await ask(shared, hello, { authorization: `Bearer ${key}` }))[0])
  }
  t.same(
    results,
    ['miss', 'hit', 'miss', 'miss'],
    'if so configured, keys of a project share answers'
  )
})

t.test('a cached answer expires, and memory is limited', async t => {
  const brief = await start(t, counting(), { answers: { ttlMs: 1 } })
  await ask(brief, hello)
  await until(async () => (await ask(brief, hello))[0] === 'miss', 'the answer to be gone')
  const small = await start(
    t,
    (_request, number) => ({ pieces: [JSON.stringify(completion(`${number} ${'x'.repeat(20_000)}`))] }),
    { answers: { maxBytes: 100_000 * 16 } }
  )
  const bodies = Array.from({ length: 60 }, (_, seed) => ({ ...hello, seed }))
  for (const body of bodies) await ask(small, body)
  t.equal((await ask(small, bodies[59] ?? hello))[0], 'hit')
  t.equal((await ask(small, bodies[0] ?? hello))[0], 'miss', 'the oldest was evicted')
  const large = await start(t, () => ({ pieces: [JSON.stringify(completion('x'.repeat(60_000)))] }))
  t.same(
    [(await ask(large, hello))[0], (await ask(large, hello))[0]],
    ['miss', 'miss'],
    'an answer over a sixteenth of the limit is not cached'
  )
})

/** An upstream that answers when `release` is called. */
function holding (): { readonly script: () => Promise<Script>, readonly release: (script?: Script) => void } {
  const waiting: Array<(script: Script) => void> = []
  return {
    script: async () =>
      await new Promise<Script>(resolve => {
        waiting.push(resolve)
      }),
    release: (
      script = {
        headers: { 'content-type': 'application/json' },
        pieces: [JSON.stringify(completion('held'))]
      }
    ) => waiting.shift()?.(script)
  }
}

function leaving (api: TestGateway, body: Json): { readonly leave: () => void } {
  const sent = request(`${api.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }
  })
  sent.on('error', () => undefined) // it disconnects
  sent.end(JSON.stringify(body))
  return { leave: () => sent.destroy() }
}

t.test('concurrent equal calls make one request, which only the first pays for', async t => {
  const { script, release } = holding()
  const api = await start(t, script)
  const first = ask(api, hello)
  await api.upstream.request(0)
  const others = [ask(api, hello), ask(api, hello)]
  await until(() => api.gateway.load().openCalls === 3, 'three calls')
  release()
  t.same(await Promise.all([first, ...others]), [
    ['miss', 'held'],
    ['hit', 'held'],
    ['hit', 'held']
  ])
  t.equal(api.upstream.requests.length, 1)
  await until(() => api.rows.length === 3, 'the rows')
  t.equal(api.rows.filter(({ cached }) => cached === 1).length, 2)
})

t.test('when the paying caller disconnects, the call continues for those who wait', async t => {
  const { script, release } = holding()
  const api = await start(t, script)
  const { leave } = leaving(api, hello)
  const { aborted } = await api.upstream.request(0)
  let isAborted = false
  void aborted.then(() => {
    isAborted = true
  })
  const other = ask(api, hello)
  await until(() => api.gateway.load().openCalls === 2, 'two calls')
  leave()
  const quit = leaving(api, { ...hello, seed: 1 })
  await api.upstream.request(1) // by now the gateway has noticed that the first has disconnected
  release()
  t.same(await other, ['hit', 'held'])
  t.equal(isAborted, false)
  await until(() => api.rows.length === 2, 'the rows')
  t.match(
    api.rows.find(({ cached }) => cached === null),
    { outcome: 'client_closed', prompt_tokens: 3, completion_tokens: 2 },
    'the one who disconnected pays'
  )
  quit.leave()
  t.equal(await (await api.upstream.request(1)).aborted, undefined, 'nobody waits for this one')
})

t.test('when all callers have disconnected, the request is aborted', async t => {
  const api = await start(t, async () => await new Promise<Script>(() => undefined))
  const [first, second] = [leaving(api, hello), leaving(api, hello)]
  const { aborted } = await api.upstream.request(0)
  await until(() => api.gateway.load().openCalls === 2, 'two calls')
  first.leave()
  second.leave()
  await aborted
  t.equal(api.upstream.requests.length, 1)
})

t.test('under a strict budget, an answer that was not cut short is cached', async t => {
  const limits = { budget: { usd: 10, per: 'month' } } as const
  for (const [finish, again] of [['stop', 'hit'], ['length', 'miss']] as const) {
    const models = [modelSettings('openai/m', { price: { input: 1, output: 10 } })]
    const pieces = [JSON.stringify(completion('a', finish))]
    const api = await start(t, { pieces }, { models }, { [testKey]: { id: 'key-1', name: 'a', limits } })
    t.same(await ask(api, hello), ['miss', 'a'])
    t.same(await ask(api, hello), [again, 'a'], finish)
  }
})

t.test('with a budget, an answer that all callers have left is read to its end and counts', async t => {
  const limits = { budget: { usd: 1, per: 'day' } } as const
  for (const [callers, stream] of [[1, false], [1, true], [2, false], [2, true]] as const) {
    const { script, release } = holding()
    const api = await start(
      t,
      script,
      { models: [modelSettings('openai/m', { price: { input: 1, output: 1 } })] },
      { [testKey]: { id: 'key-1', name: 'test', limits } }
    )
    const calls = Array.from({ length: callers }, () => leaving(api, { ...hello, stream }))
    await api.upstream.request(0)
    await until(() => api.gateway.load().openCalls === callers, 'the calls')
    for (const { leave } of calls) leave()
    await until(() => api.gateway.services.abandonedAnswers.size === 1, 'an answer without a caller')
    release(stream
      ? { headers: eventStream, pieces: chatFrames(['held'], { usage: true }) }
      : undefined)
    await until(() => api.rows.length === callers, 'the rows')
    t.match(
      api.rows.find(({ attempts }) => attempts === 1),
      { outcome: 'client_closed', estimated: 0, prompt_tokens: 3 },
      `${callers} ${stream ? 'streamed' : 'complete'}`
    )
    t.equal(api.upstream.requests.length, 1)
  }
})

t.test('a call that others wait for keeps its own deadline, and they still get the whole answer', async t => {
  for (const stream of [false, true]) {
    const release = withResolvers<void>()
    const api = await start(t, async () => {
      await release.promise
      return stream
        ? { headers: eventStream, pieces: chatFrames(['one ', 'two'], { usage: true }) }
        : {
            headers: { 'content-type': 'application/json' },
            pieces: [JSON.stringify(completion('one two'))]
          }
    })
    const first = api.post(path, { ...hello, stream, timeout: 0.2 })
    await api.upstream.request(0)
    const second = api.post(path, { ...hello, stream })
    t.equal((await first).status, 504, 'while the other waits')
    release.resolve()
    const answer = await second
    t.equal(answer.status, 200)
    t.match(await answer.text(), stream ? /one [^]*two[^]*\[DONE\]/ : /one two/)
    t.equal(api.upstream.requests.length, 1)
  }
})

t.test('nobody waits for an answer that is too long for the cache', async t => {
  const release = withResolvers<void>()
  t.teardown(release.resolve)
  const api = await start(t, (_request, number) => ({
    headers: eventStream,
    pieces: (async function* () {
      const [first = '', text = '', ...end] = chatFrames(['x'.repeat(1000)])
      yield first
      for (let count = 0; count < 1200; count++) yield text
      if (number === 0) await release.promise
      for (const frame of end) yield frame
    })()
  }))
  const first = await api.post(path, { ...hello, stream: true })
  const second = await api.post(path, { ...hello, stream: true })
  t.match(await second.text(), /\[DONE\]/, 'before the first has finished')
  release.resolve()
  t.match(await first.text(), /\[DONE\]/)
  t.equal(api.upstream.requests.length, 2)
})

t.test('when the call that others wait for fails, the next of them is sent', async t => {
  const { script, release } = holding()
  const api = await start(t, script)
  const calls = [ask(api, hello), ask(api, hello), ask(api, hello)]
  await api.upstream.request(0)
  await until(() => api.gateway.load().openCalls === 3, 'three calls')
  release({
    status: 400,
    headers: { 'content-type': 'application/json' },
    pieces: ['{"error":{"message":"no"}}']
  })
  await api.upstream.request(1)
  release()
  const results = await Promise.all(calls)
  t.equal(results.filter(([, text]) => text === 'held').length, 2)
  t.equal(api.upstream.requests.length, 2)
})

t.test(
  'text masked in a request is neither sent nor compared, and answer guards run on every hit',
  async t => {
    const stage: GuardSettings = {
      name: 'tickets',
      use: 'pattern',
      at: ['request', 'answer'],
      action: 'mask',
      patterns: [{ name: 'ticket', match: 'TCK-\\d{6}', maxLength: 10 }]
    }
    const api = await start(t, () => ({ pieces: [JSON.stringify(completion('of TCK-999999'))] }), {
      guards: [stage]
    })
    const of = (number: string): Json => ({
      ...hello,
      messages: [{ role: 'user', content: `What of ${number}?` }]
    })
    t.same(await ask(api, of('TCK-111111')), ['miss', 'of [ticket]'])
    t.same(await ask(api, of('TCK-222222')), ['hit', 'of [ticket]'])
    await until(() => api.lines.filter(({ msg }) => msg === 'call').length === 2, 'the lines')
    t.match(
      api.lines.findLast(({ msg }) => msg === 'call'),
      { cache: 'hit', findings: [{ point: 'request' }, { point: 'answer' }] }
    )
    t.equal(api.upstream.requests.length, 1)
    await api.gateway.reload({
      ...settings({ cache: { answers } }),
      providers: [chatUpstreamAt(api.upstream.url)],
      guards: []
    })
    t.same(await ask(api, of('[ticket]')), ['miss', 'of TCK-999999'], 'other guards, another answer')
  }
)

t.test('keys that share answers each get the answer as their own guards leave it', async t => {
  const project = { id: 'p-1', name: 'one' }
  const echo: Scripts = ({ json }) => {
    const { messages } = json as { readonly messages: ReadonlyArray<{ readonly content: string }> }
    return {
      headers: { 'content-type': 'application/json' },
      pieces: [JSON.stringify(completion(`${messages.at(-1)?.content} from TCK-999999`))]
    }
  }
  const api = await start(
    t,
    echo,
    {
      answers: { scope: 'project' },
      guards: [
        {
          name: 'tickets',
          use: 'pattern',
          at: ['answer'],
          action: 'mask',
          patterns: [{ name: 'ticket', match: 'TCK-\\d{6}', maxLength: 10 }],
          only: { keys: ['masked'] }
        },
        {
          name: 'people',
          use: 'pattern',
          at: ['request', 'answer'],
          action: 'mask',
          reversible: true,
          patterns: ['email']
        }
      ]
    },
    {
      open: { id: 'key-2', name: 'open', project },
      masked: { id: 'key-3', name: 'masked', project }
    }
  )
  const say = async (key: string, content: string): Promise<string> =>
    (
      await ask(
        api,
        { ...hello, messages: [{ role: 'user', content }] },
        { authorization: `Bearer ${key}` }
      )
    )[1]
  for (const order of [['open', 'masked'], ['masked', 'open']]) {
    for (const key of [...order, ...order]) {
      const [first] = order
      for (const text of [`hello ${first}`, `I am ada-${first}@example.com`, 'I am grace@example.com']) {
        const ticket = key === 'masked' ? '[ticket]' : 'TCK-999999'
        t.equal(await say(key, text), `${text} from ${ticket}`, `${key}: ${text}`)
      }
    }
  }
  t.ok(api.upstream.requests.length < 15, `${api.upstream.requests.length} requests: some were hits`)
})

t.test('without the setting there is no sign of a cache', async t => {
  const upstream = await fakeUpstream(counting())
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [chatUpstreamAt(upstream.url)] })
  t.same(
    [await ask(api, { ...hello, cache: true }), await ask(api, { ...hello, cache: true })],
    [
      [null, 'answer 0'],
      [null, 'answer 1']
    ]
  )
})

t.test(
  'gateways with the same store share answers encrypted in Redis',
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    const server = await redis.connect(t)
    const upstream = await fakeUpstream(counting())
    t.teardown(upstream.close)
    const coordination: GatewayCoordination = {
      answers: new SharedAnswers(server),
      load: () => ({ isUnreachable: false, decidedAlone: 0, commands: { bounds: [], counts: [0], sum: 0 } }),
      cooldowns: { listen: () => undefined, report: () => undefined },
      notifyOfTasks: () => undefined,
      onTasks: () => undefined
    }
    const gateways = await Promise.all(
      [1, 2].map(
        async () =>
          await testGateway(
            t,
            { providers: [chatUpstreamAt(upstream.url)], cache: { answers } },
            {},
            { database, coordination }
          )
      )
    )
    const [one, other] = gateways as [TestGateway, TestGateway] // of two
    t.same(await ask(one, hello), ['miss', 'answer 0'])
    const [found] = await eventually(
      async () => await ask(other, hello),
      ([cache]) => cache === 'hit',
      'the answer in Redis'
    )
    t.equal(found, 'hit')
    const keys = await server.deleteAll('headgate:answer:')
    t.ok(keys >= 1)
    t.equal((await ask(one, hello))[0], 'miss')
    await redis.kill()
    t.equal((await ask(one, { ...hello, seed: 3 }))[0], 'miss', 'without Redis each call is answered anew')
  }
)
