import t from 'tap'
import { adminGateway } from '../support/admin.ts'
import { chatUpstreamAt } from '../support/gateway.ts'
import { conformance } from '../support/conformance.ts'
import { modelSettings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

t.test("a key reads its limits and spending in LiteLLM's format", async t => {
  const upstream = await fakeUpstream({
    headers: { 'content-type': 'application/json' },
    pieces: [chatAnswer('there')]
  })
  t.teardown(upstream.close)
  const models = [modelSettings('openai/m', { price: { input: 1000, output: 1000 } })]
  const place = await adminGateway(t, { providers: [chatUpstreamAt(upstream.url)], models })
  const { send } = await place.user('owner')
  const limits = {
    budgets: [
      { usd: 30, per: 'month' },
      { usd: 5, every: '10d', from: '2026-10-01T00:00:00Z' },
      { usd: 90, per: 'total' }
    ],
    requests_per_minute: 60,
    concurrent_calls: 4
  }
  const {
    body: { secret, key }
  } = await send('POST /admin/v1/keys', {
    name: 'app',
    models: ['openai/*'],
    endpoints: ['chat'],
    expires_at_ms: 4_102_444_800_000,
    limits
  })
  const read = async (path = '/key/info') => await place.api.get(path, as(secret))
  const spent = async (): Promise<number | null> =>
    ((await (await read()).json()) as { info: { spend: number | null } }).info.spend
  const response = await read()
  t.same(
    await conformance(await (await place.api.get('/openapi.json')).json()).findings({
      method: 'get',
      path: '/key/info',
      response: response.clone()
    }),
    []
  )
  t.match(await response.json(), {
    key: key.id,
    info: {
      key_alias: 'app',
      team_alias: 'default',
      models: ['openai/*'],
      expires: '2100-01-01T00:00:00.000Z',
      blocked: false,
      rpm_limit: 60,
      tpm_limit: null,
      max_parallel_requests: 4,
      spend: 0,
      max_budget: 30,
      budget_duration: '30d',
      budget_reset_at: /-01T00:00:00\.000Z$/,
      budget_limits: [
        { max_budget: 5, budget_duration: '10d', spend: 0 },
        { max_budget: 90, budget_duration: null, reset_at: null, spend: 0 }
      ]
    }
  })
  t.equal(
    (
      await place.api.post(
        '/v1/chat/completions',
        { model: 'openai/m', messages: 'hi', max_tokens: 10 },
        as(secret)
      )
    ).status,
    200
  )
  await until(async () => Number(await spent()) > 0, 'the call to count')
  t.notMatch(await (await read()).text(), secret)
})

t.test('a key is never described to another key, and one without limits reports none', async t => {
  const place = await adminGateway(t)
  const { send } = await place.user('owner')
  const { body: { secret } } = await send('POST /admin/v1/keys', { name: 'plain' })
  const other = await place.api.get('/key/info?key=sk-other', as(secret))
  t.equal(other.status, 400)
  t.match(await other.json(), { error: { code: 'invalid_value', param: 'key' } })
  t.match(await (await place.api.get('/key/info', as(secret))).json(), {
    info: { models: [], spend: null, max_budget: null, budget_limits: [], expires: null }
  })
  t.equal((await place.api.get('/key/info', as('nothing'))).status, 401)
})
