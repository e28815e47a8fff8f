/** Several credentials of the gateway for one provider. */

import t, { type Test } from 'tap'
import { chatAnswer, fakeUpstream, type Script } from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { WeightedKey } from '../../lib/core/settings.ts'
import type { RouteDecision } from '../../schemas/route-decision.ts'

const path = '/v1/chat/completions'
const limited: Script = { status: 429, headers: { 'retry-after': '30' }, pieces: ['{}'] }
const refused: Script = {
  status: 401,
  pieces: ['{"error":{"message":"Incorrect API key provided: key-a","code":"invalid_api_key"}}']
}
const used: Script = { status: 429, pieces: ['{"error":{"code":"insufficient_quota","message":"no more"}}'] }
const fine: Script = { pieces: [chatAnswer('fine')] }

interface Keyed {
  readonly api: TestGateway
  /** Credentials that the provider received, in order; reading clears the list. */
  readonly seen: () => string[]
  readonly other: () => number
  readonly ask: (
    model: unknown,
    init?: RequestInit
  ) => Promise<{ status: number, route: string | null, text: string }>
}

/** A provider that answers each of its keys as scripted, and another one that works. */
async function start (
  t: Test,
  answers: Record<string, Script>,
  weights: Record<string, number> = {}
): Promise<Keyed> {
  const keys: string[] = []
  let calls = 0
  const upstream = await fakeUpstream(({ headers }) => {
    const key = String(headers.authorization).replace('Bearer ', '')
    keys.push(key)
    return answers[key] ?? refused
  })
  const other = await fakeUpstream(fine)
  t.teardown(upstream.close)
  t.teardown(other.close)
  const apiKeys = Object.keys(answers).map((key): WeightedKey => ({
    key: new Secret(key),
    weight: weights[key] ?? 1
  }))
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { apiKeys }),
      upstreamAt(`${other.url}/v1`, 'mistral', 'mistral')
    ]
  })
  return {
    api,
    seen: () => keys.splice(0),
    other: () => other.requests.length,
    ask: async (model, init) => {
      // each call in its own session
      const response = await api.post(path, { model, messages: `hi ${++calls}` }, init)
      return {
        status: response.status,
        route: response.headers.get('x-headgate-route'),
        text: await response.text()
      }
    }
  }
}

for (const [name, script, code] of [
  ['limited', limited, 'rate_limit_exceeded'],
  ['refused', refused, 'upstream_auth_failed'],
  ['out of quota', used, 'upstream_quota_exhausted']
] as const) {
  t.test(
    `a credential that is ${name} is replaced by the next one, and pauses while the others work`,
    async t => {
      // Weight 0 comes last, so the order is fixed.
      const { ask, seen, other } = await start(t, { 'key-a': script, 'key-b': fine }, { 'key-b': 0 })
      const both = ['gpt-5', 'mistral/mistral-large-latest']
      t.match(await ask(both), { status: 200, route: `openai/gpt-5: ${code}; openai/gpt-5: first_choice` })
      t.same(seen(), ['key-a', 'key-b'], 'before another provider is called')
      for (let count = 0; count < 5; count++) {
        t.match(await ask(both), { status: 200, route: 'openai/gpt-5: first_choice' })
      }
      t.same(seen(), Array(5).fill('key-b'))
      t.equal(other(), 0)
    }
  )
}

t.test('another provider is used only when all credentials are paused', async t => {
  const { api, ask, seen, other } = await start(t, { 'key-a': limited, 'key-b': limited, 'key-c': used })
  const both = ['openai/gpt-5', 'mistral/mistral-large-latest']
  t.match(await ask(both), {
    status: 200,
    route: /^openai\/gpt-5: \w+; openai\/gpt-5: \w+; openai\/gpt-5: \w+; mistral/
  })
  t.same(seen().toSorted(), ['key-a', 'key-b', 'key-c'], 'each is tried once')
  t.match(await ask(both), { route: 'openai/gpt-5: rate_limited; mistral/mistral-large-latest: next_choice' })
  t.same(seen(), [])
  t.equal(other(), 2)
  const dry = await api.post(
    path,
    { model: both, messages: 'hi' },
    { headers: { 'x-headgate-dry-run': 'true' } }
  )
  t.match(((await dry.json()) as RouteDecision).candidates[1], {
    model: 'openai/gpt-5',
    state: 'rate_limited',
    credentials: { ready: 0, total: 3 }
  })
  t.match(await ask('openai/gpt-5'), { status: 429 }, 'without another provider it is called anyway')
  t.equal(seen().length, 1, 'with one of them')
})

t.test('a failure of the provider does not count against a credential', async t => {
  const { ask, seen } = await start(t, {
    'key-a': { status: 500, pieces: ['{}'] },
    'key-b': { status: 500, pieces: ['{}'] }
  })
  t.match(await ask(['openai/gpt-5', 'mistral/mistral-large-latest']), {
    status: 200,
    route: /^openai\/gpt-5: upstream_error; mistral/
  })
  t.equal(seen().length, 1)
})

t.test('requests are shared by weight, names without a prefix work, and no key is revealed', async t => {
  const { api, ask, seen } = await start(
    t,
    { 'key-a': fine, 'key-b': fine, 'key-c': refused },
    { 'key-a': 1, 'key-b': 3, 'key-c': 0 }
  )
  for (let count = 0; count < 200; count++) t.equal((await ask('gpt-5')).status, 200)
  const keys = seen()
  const share = keys.filter(key => key === 'key-b').length / keys.length
  t.ok(share > 0.6 && share < 0.9, `${share} of the requests`)
  t.notOk(keys.includes('key-c'), 'weight 0 is used only when the others are paused')
  const own = await ask('openai/gpt-5', { headers: { 'x-provider-key': 'mine' } })
  t.same([own.status, seen()], [401, ['mine']], "only the caller's key is used")
  await until(() => api.lines.length === 201, 'all lines')
  t.notMatch(JSON.stringify(api.lines), /key-[abc]/)
})
