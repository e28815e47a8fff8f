import t from 'tap'
import { adminGateway } from '../support/admin.ts'
import { chatUpstreamAt, testGateway, type TestGateway } from '../support/gateway.ts'
import { conformance } from '../support/conformance.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { eventually } from '../support/until.ts'
import { fakeUpstream } from '../support/upstream.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { Test } from 'tap'

const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'three' } }]
const usage = { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 }
const budget = 'x-headgate-budget-remaining-usd'

/** A provider whose model costs 11 dollars a call, or 11 cents if a thousandth of the tokens are used. */
async function provider (t: Test) {
  const upstream = await fakeUpstream(({ json }) => {
    const { stream = false } = json as { readonly stream?: boolean } // the gateway wrote it
    const common = { id: 'c1', created: 1, model: 'm', usage }
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
  return {
    providers: [chatUpstreamAt(upstream.url)],
    models: [
      modelSettings('openai/m', { price: { input: 100, output: 1000 } }),
      modelSettings('openai/unpriced', {})
    ]
  }
}

const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

t.test('a key reads its limits, what is left of them and when they reset', async t => {
  const place = await adminGateway(t, await provider(t))
  const { send } = await place.user('owner')
  const { body: project } = await send('POST /admin/v1/projects', {
    name: 'Support',
    limits: { budget: { usd: 10, per: 'month' } }
  })
  const {
    body: { secret, key }
  } = await send('POST /admin/v1/keys', {
    name: 'app',
    project_id: project.id,
    models: ['openai/*'],
    endpoints: ['chat'],
    expires_at_ms: Date.now() + 86_400_000,
    limits: { budgets: [{ usd: 3, per: 'day' }], requests_per_minute: 60 }
  })
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- fields of JSON
  const read = async (): Promise<any> => {
    const response = await place.api.get('/v1/key', as(secret))
    t.same(
      await conformance(await (await place.api.get('/openapi.json')).json()).findings({
        method: 'get',
        path: '/v1/key',
        response: response.clone()
      }),
      []
    )
    return await response.json()
  }
  const before = await read()
  t.match(before, {
    object: 'key',
    id: key.id,
    name: 'app',
    project: { id: project.id, name: 'Support' },
    models: ['openai/*'],
    endpoints: ['chat'],
    expires_at: Math.floor(key.expires_at_ms / 1000),
    limits: [
      { of: 'key', name: 'budget', limit: 3, remaining: 3, window: 'day' },
      { of: 'key', name: 'requests_per_minute', limit: 60, remaining: 60 },
      { of: 'project', id: project.id, name: 'budget', limit: 10, remaining: 10, window: 'month' }
    ]
  })
  t.notMatch(JSON.stringify(before), secret)
  const answer = await place.api.post(
    '/v1/chat/completions',
    { model: 'openai/m', messages: 'hi', max_tokens: 1000 },
    as(secret)
  )
  t.same(
    [answer.status, answer.headers.get('x-headgate-cost-usd'), answer.headers.get(budget)],
    [200, '1.1', '1.9']
  )
  await answer.text()
  const left = (status: typeof before): number[] =>
    status.limits.map(({ remaining }: { remaining: number }) => remaining)
  t.same(
    left(await eventually(read, status => left(status)[0] !== 3, 'the call to count')).map(
      (amount, index) => (index === 1 ? 'rate' : amount)
    ),
    [1.9, 'rate', 8.9]
  )
  const { body: calls } = await send('GET /admin/v1/calls')
  t.notOk(
    calls.data.some(({ endpoint }: { endpoint: string }) => endpoint === 'key'),
    'to look is no call of a model'
  )
  t.equal((await place.api.get('/v1/key', as('nothing'))).status, 401)
})

const keys: Readonly<Record<string, ApiKey>> = {
  two: {
    id: 'key-2',
    name: 'two',
    limits: {
      budgets: [
        { usd: 5, per: 'day' },
        { usd: 4, per: 'month' }
      ],
      strict: false
    }
  },
  none: { id: 'key-3', name: 'none' },
  other: {
    id: 'key-5',
    name: 'other',
    limits: {
      budgets: [
        { usd: 5, per: 'day' },
        { usd: 4, per: 'month' }
      ]
    }
  },
  last: { id: 'key-4', name: 'last', limits: { budget: { usd: 1.5, per: 'total' } } }
}

async function leftAfter (
  api: TestGateway,
  key: string,
  body: object = {}
): Promise<readonly [status: number, left: string | null]> {
  const response = await api.post(
    '/v1/chat/completions',
    { model: 'openai/m', messages: 'hi', max_tokens: 1000, ...body },
    as(key)
  )
  await response.text()
  return [response.status, response.headers.get(budget)]
}

t.test(
  'an answer states the budget with the least left: a complete one after it, a stream before',
  async t => {
    const api = await testGateway(t, await provider(t), keys)
    t.same(await leftAfter(api, 'two'), [200, '2.9'])
    t.same(await leftAfter(api, 'two', { stream: true }), [200, '2.9'])
    await eventually(
      async () => await leftAfter(api, 'two', { stream: true }),
      ([, left]) => left === '1.8',
      'the stream to count'
    )
    t.same(await leftAfter(api, 'none'), [200, null])
    t.same(await leftAfter(api, 'last'), [200, '0.4'])
    t.same(
      await leftAfter(api, 'last', {
        max_tokens: 1000,
        messages: [{ role: 'user', content: 'x'.repeat(50_000) }]
      }),
      [402, '0.4'],
      'a refusal says it as well'
    )
    const { settings } = api.gateway.services
    await api.gateway.reload({ ...settings, usage: { ...settings.usage, exposeCost: false } })
    t.same(await leftAfter(api, 'other'), [200, null], 'nothing where costs are not to be seen')
    const { limits } = (await (await api.get('/v1/key', as('other'))).json()) as {
      limits: Array<{ remaining: number | null }>
    }
    t.same(
      limits.map(({ remaining }) => remaining),
      [null, null]
    )
  }
)

t.test(
  "a key reads the budgets of its tags and of a header's end user, soft ones too, at no cost",
  async t => {
    const {
      limits,
      usage: { keys: _, ...usage }
    } = settings()
    const api = await testGateway(t, {
      ...(await provider(t)),
      limits: {
        ...limits,
        tags: [
          {
            tag: 'nightly',
            budgets: [
              { usd: 5, per: 'day' },
              { usd: 2, per: 'day', soft: true }
            ]
          }
        ]
      },
      endUsers: { store: 'as_given', required: true, defaultBudget: { usd: 3, per: 'hour' } },
      usage: { ...usage, keys: [{ key: 'test', tags: ['nightly'] }] }
    })
    const read = async (endUser?: string): Promise<Array<Record<string, unknown>>> => {
      const answer = await api.get('/v1/key', {
        headers: endUser === undefined ? {} : { 'x-litellm-end-user-id': endUser }
      })
      return ((await answer.json()) as { limits: Array<Record<string, unknown>> }).limits
    }
    const ofTag = (remaining: number, soft: number) => [
      { of: 'tag', id: 'nightly', name: 'budget', limit: 5, remaining, soft: false, window: 'day' },
      { of: 'tag', limit: 2, remaining: soft, soft: true, window: 'day' }
    ]
    for (let look = 0; look < 3; look++) {
      t.match(await read('ada'), [
        ...ofTag(5, 2),
        { of: 'end_user', id: 'ada', limit: 3, remaining: 3, window: 'hour' }
      ])
    }
    t.equal((await read()).length, 2, 'without an end user nothing is required here')
    await (
      await api.post('/v1/chat/completions', {
        model: 'openai/m',
        messages: 'hi',
        max_tokens: 1000,
        user: 'ada'
      })
    ).text()
    await eventually(
      async () => await read(),
      limits => limits[0]?.['remaining'] !== 5,
      'the call to count'
    )
    t.match(await read('ada'), [...ofTag(3.9, 0.9), { of: 'end_user', id: 'ada', remaining: 1.9 }])
    t.match(await read('bob'), [...ofTag(3.9, 0.9), { of: 'end_user', id: 'bob', remaining: 3 }])
  }
)
