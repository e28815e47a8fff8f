import t from 'tap'
import { noteAttribution } from '../../lib/validation/attribution.ts'
import { unknownCaller } from '../../lib/core/call-attribution.ts'
import { orderForCall, orderRoutes } from '../../lib/models/route-strategies.ts'
import { CredentialPool } from '../../lib/routing/credential-pool.ts'
import { sessionOfCall } from '../../lib/routing/session-of-call.ts'
import { recordedAgents } from '../support/recorded-agents.ts'
import { route as routeOf } from '../support/routes.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { CallSession } from '../../lib/core/call.ts'
import type { Route } from '../../lib/core/route.ts'

interface Named { request?: Partial<ChatInput>, session?: string, key?: string }

function sessionOf ({ request, session, key = 'key-1' }: Named, random?: () => number): CallSession {
  const messages: ChatInput['messages'] = [{ role: 'user', content: 'hi' }]
  return sessionOfCall(
    {
      key: { id: key, name: key },
      record: { caller: { session } },
      request: { model: 'm', messages, ...request }
    },
    random
  )
}

const models = ['a/m', 'b/m', 'c/m']
const routes = orderRoutes(
  { name: 'r', models, strategy: 'weighted', weights: { 'a/m': 2 }, affinity: true },
  id => [routeOf(id)],
  new Map()
)
const inputs = { random: Math.random, latency: () => undefined }

function firstOf (session: CallSession, among: readonly Route[] = routes): string {
  return orderForCall(among, false, inputs, session)[0]?.modelId ?? ''
}

t.test('a session is named by the caller, or derived from the start of the conversation', async t => {
  const names: ReadonlyArray<readonly [Named, string]> = [
    [{ session: 'one', request: { prompt_cache_key: 'two' } }, 'key-1\none'],
    [{ request: { prompt_cache_key: 'two' } }, 'key-1\ntwo']
  ]
  for (const [call, id] of names) t.equal(sessionOf(call).id, id)
  t.equal(
    sessionOf({ request: { prompt_cache_key: 'x'.repeat(256) } }).id,
    undefined,
    'a longer name is no session'
  )
  const turns: Array<ChatInput['messages']> = [
    [
      { role: 'system', content: 's' },
      { role: 'user', content: 'hi' }
    ],
    [
      { role: 'system', content: 's' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'x' },
      { role: 'user', content: 'more' }
    ]
  ]
  const [first, second] = turns.map(messages => sessionOf({ request: { messages } }).id)
  t.equal(first, second, 'turns of one conversation')
  t.not(
    first,
    sessionOf({ request: { messages: [{ role: 'user', content: 'hi' }] } }).id,
    'another system prompt'
  )
  t.not(sessionOf({}).id, sessionOf({ key: 'key-2' }).id, 'keys have sessions of their own')
})

t.test('sessions are distributed by weight, and each gets the same order everywhere', async t => {
  const counts: Record<string, number> = {}
  for (let number = 0; number < 20_000; number++) {
    const call = { session: `s${number}` }
    const model = firstOf(sessionOf(call))
    counts[model] = (counts[model] ?? 0) + 1
    if (number < 200) t.equal(firstOf(sessionOf(call)), model)
  }
  for (const [model, share] of [['a/m', 0.5], ['b/m', 0.25], ['c/m', 0.25]] as const) {
    t.ok(Math.abs((counts[model] ?? 0) / 20_000 - share) < 0.02, `${model}: ${counts[model]}`)
  }
})

for (const [name, { requests }] of Object.entries(recordedAgents)) {
  t.test(`recorded sessions of ${name} are distributed evenly, and each stays on one model`, async t => {
    const counts: Record<string, number> = {}
    const even = orderRoutes(
      { name: 'r', models: ['a/m', 'b/m'], strategy: 'weighted', affinity: true },
      id => [routeOf(id)],
      new Map()
    )
    const [count, turns] = [4000, 2]
    const recorded = requests('THE-SESSION', turns)
    for (let number = 0; number < count; number++) {
      const id = `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`
      const firsts = recorded.map(({ headers, body }) => {
        const named = Object.entries(headers).map(([header, value]) =>
          [header, value.replace('THE-SESSION', id)])
        const caller = { ...unknownCaller }
        noteAttribution(body, {
          headers: Object.fromEntries(named) as Record<string, string>,
          record: { caller, request: {} }
        })
        return firstOf(sessionOf({ session: caller.session ?? '' }), even)
      })
      if (number < 200) t.equal(new Set(firsts).size, 1)
      counts[firsts[0] ?? ''] = (counts[firsts[0] ?? ''] ?? 0) + 1
    }
    t.ok(Math.abs((counts['a/m'] ?? 0) / count - 0.5) < 0.02, JSON.stringify(counts))
  })
}

t.test('an unavailable model moves only its own sessions', async t => {
  for (let number = 0; number < 2_000; number++) {
    const session = sessionOf({ session: `s${number}` })
    const before = firstOf(session)
    const after = firstOf(session, routes.filter(({ modelId }) => modelId !== 'b/m'))
    if (before !== 'b/m') t.equal(after, before)
  }
})

t.test('a call without a session is routed at random', async t => {
  const draws = [0.9, 0.1, 0.5]
  const session = sessionOf({ session: 'x'.repeat(256) })
  const ordered = orderForCall(routes, false, { ...inputs, random: () => draws.shift() ?? 0 }, session)
  t.equal(ordered[0]?.preferred, undefined)
  t.equal(draws.length, 0)
})

t.test('credentials of one provider are assigned by session too', async t => {
  const pool = new CredentialPool([1, 1, 0], () => 0)
  const counts = [0, 0, 0]
  for (let number = 0; number < 4_000; number++) {
    const session = sessionOf({ session: `s${number}` })
    const place = pool.choose('key-1', session)
    counts[place] = (counts[place] ?? 0) + 1
    t.equal(pool.choose('key-1', session), place)
  }
  t.equal(counts[2], 0)
  t.ok(Math.abs((counts[0] ?? 0) - 2_000) < 160, counts.join())
})

t.test('routes by speed keep the model that last answered the session', async t => {
  for (const strategy of ['fastest', 'balanced'] as const) {
    const ranked = orderRoutes(
      { name: 'r', models, strategy, affinity: true },
      id => [routeOf(id)],
      new Map()
    )
    const latency = (id: string): number => models.indexOf(id) + 1
    const served: Record<string, number> = { 'b/m': 5, 'c/m': 9 }
    const ordered = orderForCall(
      ranked,
      false,
      { ...inputs, latency, servedAtMs: (_, id) => served[id] },
      sessionOf({})
    )
    t.match(
      ordered.map(({ modelId, preferred }) => [modelId, preferred]),
      [
        ['c/m', 'session'],
        ['a/m', undefined],
        ['b/m', undefined]
      ]
    )
    const eligible = orderForCall(
      ranked.filter(({ modelId }) => modelId !== 'c/m'),
      false,
      { ...inputs, latency, servedAtMs: (_, id) => served[id] },
      sessionOf({})
    )
    t.same(
      eligible.map(({ modelId }) => modelId),
      ['b/m', 'a/m'],
      'a session makes no model eligible'
    )
    const fresh = orderForCall(
      ranked,
      false,
      { ...inputs, latency, servedAtMs: () => undefined },
      sessionOf({})
    )
    t.match(
      fresh.map(({ modelId }) => modelId),
      ['a/m', 'b/m', 'c/m']
    )
  }
})

t.test('affinity is on if a model of the route has a price for cached input', async t => {
  const priced = (cachedInput?: number): ReadonlyMap<string, never> =>
    new Map(
      models.map(id =>
        // only the price is read
        [id, { price: { input: 1, ...cachedInput !== undefined && { cachedInput } } } as never]
      )
    )
  const isBySession = (affinity: boolean | undefined, cachedInput?: number): boolean | undefined =>
    orderRoutes(
      { name: 'r', models, strategy: 'weighted', ...affinity !== undefined && { affinity } },
      id => [routeOf(id)],
      priced(cachedInput)
    )[0]?.ranked?.bySession
  t.same(
    [isBySession(undefined), isBySession(undefined, 1), isBySession(undefined, 0.1)],
    [undefined, undefined, true]
  )
  t.same([isBySession(true), isBySession(false, 0.1)], [true, undefined])
})
