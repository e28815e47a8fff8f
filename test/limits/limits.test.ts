import OpenAI from 'openai'
import t from 'tap'
import { LocalLimiter } from '../../lib/limits/limiter.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import type { Database } from '../../lib/stores/database.ts'
import { reasonOf, requestOf } from '../support/limits.ts'
import { dayMs } from '../../lib/core/day.ts'
import { pruneUsage } from '../../lib/stores/sqlite/prune-usage.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { eventually, until } from '../support/until.ts'
import {
  chatAnswer,
  chatFrames,
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/chat/completions'
const question = { model: 'openai/gpt-5', messages: 'hi' }
const headers = { authorization: 'Bearer limited' }

interface Limited {
  readonly api: TestGateway
  readonly upstream: FakeUpstream
  readonly limiter: LocalLimiter
  readonly clock: { ms: number }
  readonly ask: (body?: object, init?: RequestInit) => Promise<Response>
}

interface Given {
  readonly provider?: Partial<ProviderSettings>
  readonly parts?: Partial<Settings>
  readonly more?: Partial<GatewayOptions>
  /** The limits of the key's project. */
  readonly shared?: PartyLimits
}

/** A gateway with a limited key, in front of a provider, with a stopped clock. */
async function start (
  t: Test,
  limits: PartyLimits,
  script: Script | ((request: SeenRequest, number: number) => Script | Promise<Script>),
  { provider = {}, parts = {}, more = {}, shared }: Given = {}
): Promise<Limited> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const clock = { ms: Date.UTC(2025, 10, 21, 12) }
  const limiter = new LocalLimiter({ now: () => clock.ms })
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', provider)],
      models: [modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } })],
      ...parts
    },
    {
      limited: {
        id: 'key-2',
        name: 'limited',
        limits,
        ...shared !== undefined && { project: { id: 'project-1', name: 'team', limits: shared } }
      }
    },
    { limiter, ...more }
  )
  return {
    api,
    upstream,
    limiter,
    clock,
    ask: async (body = {}, init = {}) => await api.post(path, { ...question, ...body }, { headers, ...init })
  }
}

/** A provider that answers on command. */
function gated (): { readonly script: () => Promise<Script>, readonly open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>(resolve => { open = resolve })
  return {
    open: () => open(),
    script: async () => {
      await opened
      return { pieces: [chatAnswer('x')] }
    }
  }
}

async function statuses (answers: ReadonlyArray<Promise<Response>>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {}
  for (const answer of answers) {
    const response = await answer
    await response.text()
    counts[response.status] = (counts[response.status] ?? 0) + 1
  }
  return counts
}

const many = 60

t.test('of many concurrent calls exactly the limit is admitted', async t => {
  // Each reserves 2 and 9 tokens: 92 thousand billionths of a dollar.
  const bounded = { max_completion_tokens: 9 }
  const rows: ReadonlyArray<readonly [string, PartyLimits, number, number]> = [
    ['requests', { requestsPerMinute: 7 }, 7, 429],
    ['concurrent_calls', { concurrentCalls: 5 }, 5, 429],
    ['tokens', { tokensPerMinute: 85 }, 7, 429],
    ['money', { budget: { usd: 0.001, per: 'month' }, strict: false }, 10, 429],
    [
      'all of them',
      {
        requestsPerMinute: 7,
        concurrentCalls: 5,
        tokensPerMinute: 85,
        budget: { usd: 0.001, per: 'total' },
        strict: false
      },
      5,
      429
    ]
  ]
  for (const [name, limits, admitted, status] of rows) {
    await t.test(name, async t => {
      const { script, open } = gated()
      const { upstream, limiter, ask, api } = await start(t, limits, script)
      const answers = Array.from({ length: many }, async () => await ask(bounded))
      await until(
        () => upstream.requests.length === admitted && api.lines.length === many - admitted,
        'every call to be sent or refused',
        20_000
      )
      t.equal(limiter.counters.open, admitted)
      open()
      t.same(await statuses(answers), { 200: admitted, [status]: many - admitted })
      await until(() => api.lines.length === many, 'a line in the log for each call')
      t.equal(limiter.counters.open, 0)
      t.equal(upstream.requests.length, admitted)
    })
  }
})

t.test('a budget is spent down to the last call that fits, whatever was reserved', async t => {
  // 3 and 1 tokens: 13 thousand billionths each.
  const { ask, api, clock, upstream } = await start(
    t,
    { budget: { usd: 0.000_13, per: 'day' }, strict: false },
    { pieces: [chatAnswer('x')] }
  )
  const answers: number[] = []
  for (let call = 0; call < 12; call++) {
    const answer = await ask({ max_completion_tokens: 1 })
    answers.push(answer.status)
    await until(() => api.lines.length === call + 1, 'a line in the log for each call')
    if (answer.status !== 402) continue
    t.equal(answer.headers.get('x-should-retry'), 'false')
    t.match(await answer.json(), {
      error: {
        type: 'invalid_request_error',
        code: 'insufficient_quota',
        message: 'The budget of this API key ($0.00013 a day) is exhausted.'
      }
    })
  }
  t.same(answers, [...Array.from({ length: 10 }, () => 200), 402, 402])
  t.equal(upstream.requests.length, 10)
  clock.ms += dayMs / 2
  t.equal((await ask({ max_completion_tokens: 1 })).status, 200, 'the next day')
})

t.test('every answer of a limited call has the limit headers', async t => {
  const { ask, clock, api } = await start(t, { requestsPerMinute: 3, tokensPerMinute: 1000 }, (_, number) =>
    number === 1
      ? { status: 429, headers: { 'x-ratelimit-remaining-requests': '77' }, pieces: ['{}'] }
      : { pieces: [chatAnswer('x')] }
  )
  const limitsIn = ({ headers }: Response): Array<string | null> =>
    ['limit', 'remaining', 'reset'].flatMap(what =>
      ['requests', 'tokens'].map(of => headers.get(`x-ratelimit-${what}-${of}`))
    )
  const bounded = { max_completion_tokens: 99 }
  t.same(limitsIn(await ask(bounded)), ['3', '1000', '2', '899', '20s', '6.06s'])
  await until(() => api.lines.length === 1, 'one line in the log')
  const failed = await ask(bounded)
  t.equal(failed.status, 429)
  t.same(
    limitsIn(failed),
    ['3', '1000', '1', '895', '40s', '6.3s'],
    'what was used has taken the place of the guess; what the provider says is not of this key'
  )
  await until(() => api.lines.length === 2, 'two lines in the log')
  await ask(bounded)
  await until(() => api.lines.length === 3, 'three lines in the log')
  const refused = await ask(bounded)
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '20')
  t.equal(refused.headers.get('x-should-retry'), null)
  t.same(limitsIn(refused), ['3', '1000', '0', '992', '1m0s', '480ms'])
  t.match(await refused.json(), {
    error: {
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
      message:
        'This API key allows 3 requests to providers per minute. Retries and further tool turns of a call count too.'
    }
  })
  clock.ms += 20_000
  t.equal((await ask(bounded)).status, 200)

  const free = await api.post(path, question)
  t.equal(free.status, 200)
  t.notOk(
    [...free.headers.keys()].some(name => name.startsWith('x-ratelimit')),
    'a key without limits hears nothing'
  )
})

t.test('the official client does not retry if that cannot help', async t => {
  const { api, clock, upstream } = await start(
    t,
    { requestsPerMinute: 60, budget: { usd: 0.000_02, per: 'total' }, strict: false },
    { pieces: [chatAnswer('x')] }
  )
  const client = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: 'limited', maxRetries: 2 })
  const ask = async (): Promise<unknown> =>
    await client.chat.completions.create({
      model: 'openai/gpt-5',
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 1
    })
  await ask()
  await until(() => api.lines.length === 1, 'one line in the log')
  clock.ms += 1000
  t.match(await ask().catch((error: unknown) => error), {
    status: 402,
    code: 'insufficient_quota',
    message: /The remaining budget of this API key \(\$0\.00002 in total\) is too small for this call\./
  })
  await until(() => api.lines.length === 2, 'two lines in the log')
  t.equal(upstream.requests.length, 1)
})

t.test('keys without limits of their own get those of the configuration', async t => {
  const limits = { ...settings().limits, defaultKeyLimits: { requestsPerMinute: 1 } }
  const { api, ask } = await start(
    t,
    { requestsPerMinute: 2 },
    { pieces: [chatAnswer('x')] },
    { parts: { limits } }
  )
  t.same(await statuses([api.post(path, question), api.post(path, question)]), { 200: 1, 429: 1 })
  t.same(await statuses([ask(), ask(), ask()]), { 200: 2, 429: 1 })
})

t.test('a caller with their own provider key spends nothing', async t => {
  const { ask, api } = await start(
    t,
    { budget: { usd: 1e-9, per: 'day' }, strict: false },
    { pieces: [chatAnswer('x')] }
  )
  t.equal((await ask()).status, 402)
  t.equal((await ask({}, { headers: { ...headers, 'x-provider-key': 'mine' } })).status, 200)
  await until(() => api.lines.length === 2, 'two lines in the log')
})

t.test('however a call ends, no reservation remains', async t => {
  const limits: PartyLimits = {
    requestsPerMinute: 1000,
    tokensPerMinute: 1_000_000,
    concurrentCalls: 1,
    budget: { usd: 1, per: 'month' },
    strict: false
  }
  const stream = { headers: eventStream, pieces: chatFrames(['a', 'b']) }
  const broken = { ...stream, pieces: stream.pieces.slice(0, 2) }

  /** Makes one call to its end; nothing stays reserved, so the only slot is free for the next one. */
  const row = async (
    name: string,
    script: Script,
    status: number | 'left',
    call: (set: Limited) => Promise<Response | undefined>,
    given: Given = {}
  ): Promise<void> => {
    await t.test(name, async t => {
      // With a budget the answer would be read for another minute, since the provider bills it.
      const { budget: _, ...withoutBudget } = limits
      const set = await start(
        t,
        status === 'left' ? withoutBudget : limits,
        (_, number) => (number === 0 ? script : { pieces: [chatAnswer('x')] }),
        given
      )
      const answer = await call(set).catch(() => undefined)
      await answer?.text().catch(() => '')
      t.equal(answer?.status ?? 'left', status)
      await until(() => set.api.lines.length === 1, 'one line in the log')
      t.equal(set.limiter.counters.open, 0)
      const next = await set.ask()
      t.match([200, 502].includes(next.status), true)
      await until(() => set.api.lines.length === 2, 'two lines in the log')
      t.equal(set.limiter.counters.open, 0)
    })
  }
  const leave =
    (body: object, when: 'sent' | 'reading') =>
    async ({ ask, upstream }: Limited): Promise<undefined> => {
      const leaving = new AbortController()
      const answer = ask(body, { signal: leaving.signal })
      answer.catch(() => undefined)
      await upstream.request(0)
      if (when === 'reading') await (await answer).body?.getReader().read()
      leaving.abort()
    }

  await row('a complete answer', { pieces: [chatAnswer('x')] }, 200, async ({ ask }) => await ask())
  await row('a stream', stream, 200, async ({ ask }) => await ask({ stream: true }))
  await row('an error of the provider', { status: 500, pieces: ['{}'] }, 502, async ({ ask }) => await ask())
  await row('a refusal by the provider', { status: 400, pieces: ['{}'] }, 400, async ({ ask }) => await ask())
  await row('an answer that cannot be read', { pieces: ['nonsense'] }, 502, async ({ ask }) => await ask())
  await row(
    'a stream that breaks off',
    { ...broken, then: 'fin' },
    200,
    async ({ ask }) => await ask({ stream: true })
  )
  await row('a caller who leaves before the answer', { silent: true }, 'left', leave({}, 'sent'))
  await row('a caller who leaves before a stream', { silent: true }, 'left', leave({ stream: true }, 'sent'))
  await row(
    'a caller who leaves during a stream',
    { ...broken, then: 'stall' },
    'left',
    leave({ stream: true }, 'reading')
  )
  await row('a caller who leaves, and what is read on', stream, 'left', leave({ stream: true }, 'reading'), {
    provider: { onDisconnect: 'drain' }
  })
  await row('a deadline', { silent: true }, 504, async ({ ask }) => await ask(), {
    parts: { limits: { ...settings().limits, callMs: 300 } }
  })
  await row(
    'a refusal after it',
    { pieces: ['{}'] },
    400,
    async ({ ask }) => await ask({ n: 2, mcp_servers: ['http://127.0.0.1:9/mcp'] })
  )
  await row(
    'no provider behind the model',
    {},
    404,
    async ({ api }) =>
      await api.post(
        '/v1/ocr',
        { model: 'openai/gpt-5', document: { document_url: 'data:application/pdf;base64,JVBERi0=' } },
        { headers }
      )
  )
})

t.test('a call refused before reaching a provider is not counted', async t => {
  const { ask, api, limiter } = await start(t, { requestsPerMinute: 1 }, { pieces: [chatAnswer('x')] })
  for (const body of [{ model: 'missing/x' }, { messages: 5 }]) t.ok((await ask(body)).status >= 400)
  for (const path of ['/v1/models', '/health']) t.equal((await api.get(path, { headers })).status, 200)
  t.equal(
    (await ask({}, { headers: { ...headers, 'x-headgate-dry-run': 'true' } })).status,
    200,
    'a dry run sends no request'
  )
  t.same(await statuses([ask(), ask()]), { 200: 1, 429: 1 })
  await until(() => api.lines.length === 7, 'seven lines in the log')
  t.equal(limiter.counters.open, 0)
})

async function store (t: Test): Promise<Database> {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  return database
}

/** Requests an answer that is fetched later, and fetches it. */
async function collected ({ api, ask }: Limited, body: object): Promise<number> {
  const { request_id: id } = (await (await ask({ deferred: true, ...body })).json()) as {
    request_id: string
  }
  const fetched = async (): Promise<number> =>
    (await api.get(`/v1/chat/deferred-completion/${id}`, { headers })).status
  return await eventually(fetched, status => status !== 202, 'the deferred completion')
}

for (const whose of ['key', 'project']) {
  t.test(`a deferred call is checked against all limits of its ${whose}, and charged when run`, async t => {
    const database = await store(t)
    const limits: PartyLimits = {
      requestsPerMinute: 3,
      tokensPerMinute: 30,
      concurrentCalls: 1,
      budget: { usd: 0.0001, per: 'total' },
      strict: false
    }
    const set = await start(
      t,
      whose === 'key' ? limits : {},
      { pieces: [chatAnswer('x')] },
      {
        parts: {
          deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1_000_000 }
        },
        more: { database },
        ...whose === 'project' && { shared: limits }
      }
    )
    const { ask, limiter } = set
    t.equal(await collected(set, { max_completion_tokens: 8 }), 200)
    await until(() => limiter.counters.open === 0, 'no call to be counted as open')
    const refused = await ask({ max_completion_tokens: 9 })
    t.equal(refused.status, 402, '13 of 100 thousand billionths are spent, and 92 wanted')
    t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '26')
    t.equal(refused.headers.get('x-ratelimit-remaining-requests'), '2')
  })
}

t.test(
  'a call deferred by its provider is charged its reservation until it is fetched, then its actual cost',
  async t => {
    const database = await store(t)
    const limits: PartyLimits = {
      requestsPerMinute: 3,
      tokensPerMinute: 4,
      concurrentCalls: 1,
      budget: { usd: 0.000_02, per: 'total' },
      strict: false
    }
    const set = await start(
      t,
      limits,
      ({ method }, number) => ({
        pieces: [method === 'POST' ? `{"request_id":"f15c114e-f47d-${number}"}` : chatAnswer('x')]
      }),
      {
        provider: { id: 'xai', kind: 'xai' },
        more: { database },
        parts: {
          models: [modelSettings('xai/grok-4.6', { price: { input: 3, output: 3 } })],
          deferred: { ...settings().deferred, keepMs: 60_000 }
        }
      }
    )
    const { ask, limiter } = set
    const bounded = { model: 'xai/grok-4.6', max_completion_tokens: 1 }
    const { request_id: id } = (await (await ask({ ...bounded, deferred: true })).json()) as {
      request_id: string
    }
    t.equal(await collected(set, bounded), 200)
    await until(() => limiter.counters.open === 0, 'no call to be counted as open')
    const refused = await ask(bounded)
    t.equal(
      refused.status,
      402,
      '21 of 20 thousand billionths are spent: 12 by the one that was fetched, 9 for the other one'
    )
    t.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '0')
    t.equal(
      (await set.api.get(`/v1/chat/deferred-completion/${id}`, { headers })).status,
      200,
      'an admitted call gets its answer'
    )
  }
)

t.test('spending is known after a restart, pruned or not', async t => {
  const database = await store(t)
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const open = async (): Promise<TestGateway> =>
    await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        models: [modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } })]
      },
      {
        limited: {
          id: 'key-2',
          name: 'limited',
          limits: { budget: { usd: 0.000_03, per: 'month' }, strict: false }
        }
      },
      { usageDatabase: database }
    )
  const ask = async ({ post }: TestGateway): Promise<number> =>
    (await post(path, { ...question, max_completion_tokens: 1 }, { headers })).status
  const first = await open()
  t.equal(await ask(first), 200)
  await first.gateway.close()
  const second = await open()
  t.equal(await ask(second), 200)
  await until(() => second.lines.length === 1, 'one line in the log')
  t.equal(await ask(second), 402)
  await second.gateway.close()
  await pruneUsage(database.query, { keepDays: 90, keepRows: 1 }, Date.now())
  t.equal((await database.query.selectFrom('usage').selectAll().execute()).length, 1)
  const third = await open()
  t.equal(await ask(third), 402)
  const day = dayMs * Math.floor(Date.now() / dayMs)
  t.equal(await usedBetween(database.query, 'nanoUsd', 'key-2', day, day + dayMs), 26_000)
  t.equal(await usedBetween(database.query, 'nanoUsd', 'key-2', day + dayMs, day + 2 * dayMs), 0)
})

t.test('unreadable usage records do not delay calls', async t => {
  const failures: unknown[] = []
  const limiter = new LocalLimiter({
    readUsed: async () => await Promise.reject(new Error('gone')),
    onFailure: error => {
      failures.push(error)
    }
  })
  const wanted = requestOf({
    keyId: 'a',
    limits: { budget: { usd: 1, per: 'day' } },
    tokens: 0,
    nanoUsd: 6e8
  })
  const verdicts = await Promise.all([limiter.reserve(wanted), limiter.reserve(wanted)])
  t.same(verdicts.map(reasonOf), ['admitted', 'budget_reserved'])
  t.equal(failures.length, 1)
})

t.test(
  'each named party refuses a call by name, others continue, and spending survives a restart',
  async t => {
    const database = await store(t)
    const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
    t.teardown(upstream.close)
    const budget = { usd: 0.000_026, per: 'month' } as const // two calls
    const open = async (parts: Partial<Settings>): Promise<TestGateway> =>
      await testGateway(
        t,
        {
          providers: [upstreamAt(`${upstream.url}/v1`)],
          models: [
            modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } }),
            modelSettings('openai/other', { price: { input: 1, output: 10 } })
          ],
          routes: [{ name: 'smart', models: ['openai/other'] }],
          ...parts
        },
        {},
        { database, usageDatabase: database }
      )
    const ask = async (
      { post }: TestGateway,
      body: object,
      more: Record<string, string> = {}
    ): Promise<Response> =>
      await post(path, { ...question, max_completion_tokens: 1, ...body }, { headers: more })
    const dryRun = async (gateway: TestGateway, body: object): Promise<void> => {
      const answer = await ask(gateway, body, { 'x-headgate-dry-run': 'true' })
      t.equal(answer.status, 200)
      t.match(await answer.json(), { object: 'route.decision' })
    }
    const { limits, usage } = settings()
    const tagged = { keys: [], projects: [], routes: [{ route: 'smart', tags: ['nightly'] }] }
    const cases = [
      [
        'this end user',
        'user',
        { endUsers: { store: 'as_given', required: false, defaultBudget: budget, strict: false } },
        { user: 'ada' },
        { user: 'bob' }
      ],
      [
        'the model `openai/gpt-5`',
        'model',
        { limits: { ...limits, models: [{ model: 'openai/gpt-5', budget, strict: false }] } },
        {},
        { model: 'openai/other' }
      ],
      [
        'the tag `nightly`',
        null,
        {
          limits: { ...limits, tags: [{ tag: 'nightly', budget, strict: false }] },
          usage: { ...usage, ...tagged }
        },
        { model: 'smart' },
        { metadata: { tags: ['nightly'] } }
      ]
    ] as const
    for (const [name, param, parts, spending, other] of cases) {
      const first = await open(parts)
      t.equal((await ask(first, spending)).status, 200)
      await until(() => first.lines.length === 1, 'one line in the log')
      await first.gateway.close()
      const second = await open(parts)
      await Promise.all([dryRun(second, spending), dryRun(second, spending)])
      t.equal((await ask(second, spending)).status, 200, 'half of it is left after a restart and two dry runs')
      await until(() => second.lines.length === 3, 'three lines in the log')
      await dryRun(second, spending) // exhausted by now
      const refused = await ask(second, spending)
      t.equal(refused.status, 402)
      t.match(refused.headers.get('x-headgate-budget-reset'), /^\d{10}$/)
      t.match(await refused.json(), {
        error: {
          code: 'insufficient_quota',
          param,
          message: `The budget of ${name} ($0.000026 a month) is exhausted.`
        }
      })
      t.equal((await ask(second, other)).status, 200, 'another one')
      await second.gateway.close()
    }
    const rows = await database.query
      .selectFrom('usage')
      .select(['parties', 'end_user'])
      .where('parties', 'is not', null)
      .orderBy('at_ms')
      .execute()
    t.ok(rows.some(({ parties }) => parties === '["tag:nightly"]'))
    t.notOk(
      rows.some(({ parties }) => parties?.includes('ada') === true),
      'names of end users are in no party'
    )
  }
)

t.test('a soft budget refuses nothing, needs no price, and is reported as exhausted once', async t => {
  const { ask, api, clock } = await start(
    t,
    { budgets: [{ usd: 0.000_01, per: 'day', soft: true }] },
    { pieces: [chatAnswer('x')] }
  )
  const calls = 4
  for (let call = 0; call < calls; call++) {
    const answer = await ask({ model: call === 0 ? 'openai/unknown' : 'openai/gpt-5' })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('x-headgate-budget-remaining-usd'), null, 'nothing runs out')
    await until(
      () => api.lines.filter(({ msg }) => msg === 'call').length === call + 1,
      'the line of the call'
    )
  }
  const lines = api.lines.filter(({ msg }) => msg === 'call')
  t.same(
    lines.map(({ exceeded_budgets: exceeded }) => exceeded),
    [undefined, undefined, ['key-2: $0.00001 a day'], ['key-2: $0.00001 a day']]
  )
  const warnings = api.lines.filter(({ msg }) => msg === 'soft budget exceeded')
  t.match(warnings, [{ level: 'warn', party: 'key-2', budget: '$0.00001 a day' }])
  t.equal(warnings.length, 1)
  t.ok(clock.ms > 0)
})

t.test(
  'an end user whose spending is unknown waits 250 ms, then passes or is refused as configured',
  async t => {
    const wanted = {
      ...requestOf(
        { keyId: 'p/x', limits: { budget: { usd: 1, per: 'day' } }, tokens: 0, nanoUsd: 6e8 },
        'end_user'
      ),
      withoutStore: 'allow'
    } as const
    const never = async (): Promise<number> => await new Promise(() => undefined)
    for (const readUsed of [never, async () => await Promise.reject(new Error('gone'))]) {
      const decision = await new LocalLimiter({ readUsed }).reserve(wanted)
      t.match(decision, { admitted: true, isUnread: true })
      t.match(await new LocalLimiter({ readUsed }).reserve({ ...wanted, withoutStore: 'refuse' }), {
        admitted: false,
        reason: 'budget_unread',
        accountIndex: 0,
        waitMs: 1000
      })
    }
    t.match(
      await new LocalLimiter({ readUsed: async () => 5e8 }).reserve({ ...wanted, withoutStore: 'refuse' }),
      { admitted: false, reason: 'budget_too_small' }
    )
    const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
    t.teardown(upstream.close)
    const { limits } = settings()
    for (const [withoutStore, status] of [
      ['refuse', 503],
      ['allow', 200]
    ] as const) {
      const api = await testGateway(
        t,
        {
          providers: [upstreamAt(`${upstream.url}/v1`)],
          models: [modelSettings('openai/gpt-5', { price: { input: 1, output: 10 } })],
          limits: { ...limits, withoutStore },
          endUsers: { store: 'as_given', required: false, defaultBudget: { usd: 1, per: 'day' } }
        },
        {},
        { limiter: new LocalLimiter({ readUsed: never }) }
      )
      const answer = await api.post(path, { ...question, user: 'ada' })
      t.equal(answer.status, status)
      if (status === 503) {
        t.match(await answer.json(), {
          error: {
            param: 'user',
            message: 'The spending of this end user cannot be read at the moment. Try again later.'
          }
        })
      }
      await until(() => api.lines.length === 1, 'one line in the log')
      t.equal(api.lines[0]?.['budget_unread'], status === 200 ? true : undefined)
    }
  }
)

t.test(
  'where an end user is required, calls to models without one are refused, other requests are not',
  async t => {
    const { ask, api } = await start(
      t,
      {},
      { pieces: [chatAnswer('x')] },
      { parts: { endUsers: { store: 'as_given', required: true } } }
    )
    const refused = await ask()
    t.equal(refused.status, 400)
    t.match(await refused.json(), { error: { param: 'user', message: /needs the end user of each call/ } })
    t.equal((await ask({ user: 'ada' })).status, 200)
    t.equal((await ask({}, { headers: { ...headers, 'x-litellm-end-user-id': 'ada' } })).status, 200)
    t.equal((await api.get('/v1/models')).status, 200)
  }
)
