import t from 'tap'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import {
  durationText,
  rateLimitHeaders,
  refusalHeaders,
  costHeaders,
  usdText
} from '../../lib/limits/headers.ts'
import fc from 'fast-check'
import { chatUpstreamAt, testGateway, type TestGateway } from '../support/gateway.ts'
import { holds } from '../support/property.ts'
import { modelSettings } from '../support/settings.ts'
import { storeTest } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { fakeUpstream } from '../support/upstream.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const accounts = (limits: PartyLimits) => limitAccountsOf([{ kind: 'key', id: 'a', limits }])
const rateLimits = { requests: { limit: 60, remaining: 59, resetMs: 1000 } }

t.test('headers state request and token limits if the key has them', async t => {
  t.same(rateLimitHeaders({}), {})
  t.same(rateLimitHeaders({ ...rateLimits, tokens: { limit: 1000, remaining: 0, resetMs: 60_000 } }), {
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': '1s',
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '1m0s'
  })
})

t.test('a refusal for open calls says that no requests remain', async t => {
  t.same(
    refusalHeaders(
      { admitted: false, accountIndex: 0, reason: 'concurrent_calls', waitMs: 1000, used: [], rateLimits },
      accounts({ concurrentCalls: 2 })
    ),
    {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s'
    },
    'calls at once'
  )
  t.same(
    refusalHeaders(
      { admitted: false, accountIndex: 0, reason: 'budget_reserved', waitMs: 1000, used: [], rateLimits: {} },
      accounts({ budget: { usd: 1, per: 'day' } })
    ),
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s'
    },
    'a budget that calls in flight may use up'
  )
  t.same(
    refusalHeaders(
      { admitted: false, accountIndex: 0, reason: 'requests', waitMs: 1500, used: [], rateLimits },
      accounts({ requestsPerMinute: 60 })
    ),
    rateLimitHeaders(rateLimits),
    'a limit per minute'
  )
  t.same(
    refusalHeaders(
      {
        admitted: false,
        accountIndex: 0,
        reason: 'budget',
        waitMs: 0,
        endMs: 7_200_000,
        used: [],
        rateLimits: {}
      },
      accounts({ budget: { usd: 1, per: 'hour' } })
    ),
    { 'x-headgate-budget-reset': '7200' },
    'the end of its window'
  )
  t.same(
    refusalHeaders(
      {
        admitted: false,
        accountIndex: 0,
        reason: 'budget',
        waitMs: 0,
        used: [],
        rateLimits: {}
      },
      accounts({ budget: { usd: 1, per: 'total' } })
    ),
    {},
    'a budget without an end'
  )
})

t.test('durations are written with their units', async t => {
  t.same([20, 1500, 60_000, 366_000].map(durationText), ['20ms', '1.5s', '1m0s', '6m6s'])
})

t.test('durations are written as clients read them', async t => {
  for (const [ms, text] of [
    [0, '0ms'],
    [20, '20ms'],
    [1000, '1s'],
    [1500, '1.5s'],
    [60_000, '1m0s'],
    [90_250, '1m30.25s']
  ] as const) {
    t.equal(durationText(ms), text)
  }
})

const path = '/v1/chat/completions'
const project = { id: 'project-1', name: 'Support' }
const keys = { 'of a project': { id: 'key-2', name: 'supporter', project } }
const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'three' } }]
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

/**
 * The provider reports no usage for `openai/silent`, has no price for `openai/free-form` and fails for
 * `openai/broken`.
 */
async function start (
  t: Test,
  parts: Partial<Settings> = {},
  more: Partial<GatewayOptions> = {}
): Promise<TestGateway> {
  const upstream = await fakeUpstream(({ json }) => {
    // the gateway wrote it
    const { model, stream = false } = json as { readonly model: string, readonly stream?: boolean }
    if (model === 'broken') return { status: 500, pieces: ['{}'] }
    const common = { id: 'c1', created: 1, model, ...model !== 'silent' && { usage } }
    if (!stream) {
      return {
        headers: { 'content-type': 'application/json' },
        pieces: [JSON.stringify({ ...common, object: 'chat.completion', choices })]
      }
    }
    const chunk = {
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, finish_reason: 'stop', delta: { content: 'three' } }]
    }
    return {
      headers: { 'content-type': 'text/event-stream' },
      pieces: [`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`]
    }
  })
  t.teardown(upstream.close)
  const price = { input: 1, output: 10 }
  const priced = ['exact', 'silent', 'broken'].map(name => modelSettings(`openai/${name}`, { price }))
  return await testGateway(
    t,
    { providers: [chatUpstreamAt(upstream.url)], models: priced, ...parts },
    keys,
    more
  )
}

/** Returns amount and status. */
async function costOf (
  api: TestGateway, body: object, key?: string
): Promise<readonly [usd: string | null, status: string | null]> {
  const response = await api.post(
    path,
    { messages: 'hi', ...body },
    key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }
  )
  await response.text()
  return [response.headers.get('x-headgate-cost-usd'), response.headers.get('x-headgate-cost-status')]
}

storeTest(
  'a complete answer states the cost of its usage record, and whether it is estimated or unknown',
  async (t, open) => {
    const database = await open()
    const api = await start(t, {}, { database, usageDatabase: database })
    const exact = await costOf(api, { model: 'openai/exact' })
    const silent = await costOf(api, { model: 'openai/silent' })
    t.same(exact, ['0.000023', null])
    t.equal(silent[1], 'estimated')
    t.same(await costOf(api, { model: 'openai/free-form' }), [null, 'unpriced'])
    t.same(
      await costOf(api, { model: 'openai/broken' }),
      ['0', null],
      'a provider that failed bills nothing'
    )
    t.same(
      await costOf(api, { model: 'openai/exact', temperature: 9 }),
      [null, null],
      'a call that was refused had no model'
    )
    await until(() => api.lines.filter(({ msg }) => msg === 'call').length === 5, 'five lines in the log')
    await api.gateway.close()
    const rows = await database.query.selectFrom('usage').select(['model', 'cost_nano_usd']).execute()
    const recorded = (model: string): number | null | undefined =>
      rows.find(row => row.model === model)?.cost_nano_usd
    t.equal(recorded('openai/exact'), 23_000)
    t.ok(Number(silent[0]) > 0)
    t.equal(recorded('openai/silent'), Math.round(Number(silent[0]) * 1e9))
    t.equal(recorded('openai/free-form'), null)
  }
)

t.test('the cost is stated without a store too', async t => {
  t.same(await costOf(await start(t), { model: 'openai/exact' }), ['0.000023', null])
})

t.test('the head of a stream is sent before its cost is known', async t => {
  t.same(await costOf(await start(t), { model: 'openai/exact', stream: true }), [null, null])
})

t.test(
  '`usage.expose_cost` turns it off, also per project by id or name, and after a reload',
  async t => {
    const api = await start(t)
    const { settings: first } = api.gateway.services
    const exact = '0.000023'
    for (const [exposeCost, projects, seen] of [
      [true, [{ project: 'project-1', exposeCost: false, tags: [] }], [exact, null]],
      [true, [{ project: 'Support', exposeCost: false, tags: [] }], [exact, null]],
      [true, [{ project: 'default', exposeCost: false, tags: [] }], [null, exact]],
      [false, [{ project: 'Support', exposeCost: true, tags: [] }], [null, exact]],
      [false, [], [null, null]],
      [true, [], [exact, exact]]
    ] as const) {
      await api.gateway.reload({ ...first, usage: { ...first.usage, exposeCost, projects } })
      const [[own], [other]] = [
        await costOf(api, { model: 'openai/exact' }),
        await costOf(api, { model: 'openai/exact' }, 'of a project')
      ]
      t.same([own, other], seen, JSON.stringify({ exposeCost, projects }))
    }
  }
)

interface UsageOfAnswer {
  readonly total_tokens: number
  readonly cost?: number | null
  readonly cost_status?: string
}

/** Returns `usage` of a complete answer, or of the last chunk of a stream that has one. */
async function usageIn (api: TestGateway, body: object): Promise<UsageOfAnswer | undefined> {
  const text = await (await api.post(path, { messages: 'hi', ...body })).text()
  if (!text.startsWith('data:')) return (JSON.parse(text) as { usage?: UsageOfAnswer }).usage
  const chunks = text
    .split('\n\n')
    .filter(frame => frame.startsWith('data: {'))
    .map(frame => JSON.parse(frame.slice(6)) as { usage?: UsageOfAnswer | null })
  return chunks.findLast(({ usage }) => usage != null)?.usage ?? undefined
}

storeTest(
  '`usage` of an answer has the recorded cost if the request asks for it, complete or streamed',
  async (t, open) => {
    const database = await open()
    const api = await start(t, {}, { database, usageDatabase: database })
    const include = { usage: { include: true } }
    for (const stream of [false, true]) {
      t.match(await usageIn(api, { model: 'openai/exact', stream, ...include }), {
        total_tokens: 5,
        cost: 0.000023,
        cost_status: undefined
      })
      const silent = await usageIn(api, { model: 'openai/silent', stream, ...include })
      t.equal(silent?.cost_status, 'estimated')
      t.ok(Number(silent?.cost) > 0 && Number(silent?.total_tokens) > 0)
      t.match(await usageIn(api, { model: 'openai/free-form', stream, ...include }), {
        total_tokens: 5,
        cost: null,
        cost_status: 'unpriced'
      })
      for (const not of [{}, { usage: { include: false } }, { usage: {} }, { usage: null }]) {
        t.notMatch(
          (await usageIn(api, {
            model: 'openai/exact',
            stream,
            stream_options: stream ? { include_usage: true } : undefined,
            ...not
          })) ?? {},
          { cost: Number }
        )
      }
    }
    t.equal(
      await usageIn(api, { model: 'openai/exact', stream: true }),
      undefined,
      'a stream has no usage that is not wanted'
    )
    const { settings: first } = api.gateway.services
    await api.gateway.reload({ ...first, usage: { ...first.usage, exposeCost: false } })
    const hidden = await api.post(path, { messages: 'hi', model: 'openai/exact', ...include })
    t.equal(hidden.headers.get('x-headgate-ignored'), 'usage')
    t.notMatch(await hidden.json(), { usage: { cost: Number } })
    t.equal(
      (await api.post(path, { messages: 'hi', model: 'openai/exact', usage: { include: 'yes' } })).status,
      422
    )
    await api.gateway.close()
    const rows = await database.query
      .selectFrom('usage')
      .select('cost_nano_usd')
      .where('model', '=', 'openai/silent')
      .execute()
    t.equal(rows.length, 2)
  }
)

t.test('an amount is a plain decimal that parses to the same number of billionths', t => {
  for (const [nanoUsd, text] of [
    [0, '0'],
    [1, '0.000000001'],
    [10e9, '10'],
    [1.5e9, '1.5'],
    [-2500, '-0.0000025'],
    [1e15 - 1, '999999.999999999']
  ] as const) {
    t.equal(usdText(nanoUsd), text)
  }
  holds(t, fc.property(fc.integer({ min: -1e15, max: 1e15 }), nanoUsd => {
    const text = usdText(nanoUsd)
    return /^-?\d+(?:\.\d*[1-9])?$/.test(text) && Math.round(Number(text) * 1e9) === nanoUsd
  }))
  t.end()
})

t.test('a call without a model states no cost', t => {
  t.equal(costHeaders({ model: null, cost_nano_usd: 0, estimated: 0 }), undefined)
  t.end()
})
