import t from 'tap'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { orderForCall, orderRoutes, unique } from '../../lib/models/route-strategies.ts'
import { route as routeOf } from '../support/routes.ts'
import type { CallSession } from '../../lib/core/call.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Route } from '../../lib/core/route.ts'
import type { RouteSettings } from '../../lib/core/settings.ts'

const route = (model: string): Route => routeOf(`one/${model}`)

t.test('routes are ordered by the strategy', async t => {
  const prices: Record<string, number | undefined> = { a: 3, b: undefined, c: 0.5 }
  const entries = new Map(
    Object.entries(prices).map(([name, usd]): [string, ModelEntry] => {
      const entry = unknownModelEntry('one', name, 'openai')
      return [entry.id, usd === undefined ? entry : { ...entry, price: { input: usd, asOf: '2026-01-01' } }]
    })
  )
  const order = (
    parts: Partial<RouteSettings>,
    random = () => 0.5,
    latency: (id: string, streamed: boolean) => number | undefined = () => undefined
  ): string[] => {
    const routes = orderRoutes(
      { name: 'r', models: ['a', 'b', 'c', 'a'], ...parts },
      name => [route(name)],
      entries
    )
    return orderForCall(routes, true, { random, latency }).map(({ model }) => model)
  }
  t.same(order({}), ['a', 'b', 'c'])
  t.same(order({ strategy: 'in_order' }), ['a', 'b', 'c'])
  t.same(order({ strategy: 'cheapest' }), ['c', 'a', 'b'], 'no known price is last')
  const times: Record<string, number | undefined> = { 'one/a': 300, 'one/b': 100 }
  t.same(
    order({ strategy: 'fastest' }, undefined, id => times[id]),
    ['c', 'b', 'a'],
    'what is not known is found out'
  )
  t.same(
    order({ strategy: 'fastest' }, undefined, (_, streamed) => (streamed ? 1 : undefined)),
    ['a', 'b', 'c']
  )

  const draws = [0.9, 0.1, 0.5]
  t.same(
    order({ strategy: 'weighted' }, () => draws.shift() ?? 0),
    ['b', 'c', 'a']
  )
  t.same(
    order({ strategy: 'weighted', weights: { a: 0, b: 0 } }, () => 0),
    ['c', 'a', 'b'],
    'no weight, only when the others fail'
  )

  let seed = 1
  const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647
  const first: Record<string, number> = {}
  for (let call = 0; call < 4000; call++) {
    const [name = ''] = order({ strategy: 'weighted', models: ['a', 'b'], weights: { a: 3 } }, random)
    first[name] = (first[name] ?? 0) + 1
  }
  t.ok(
    Math.abs((first['a'] ?? 0) - 3000) < 120,
    `${first['a']} of 4000 went to the one with three of four shares`
  )
})

t.test('load is shared by pending calls and response times', async t => {
  const routes = ['a', 'b', 'c'].map(name => ({ ...route(name), ranked: { by: 'load' as const } }))
  const times: Record<string, number | undefined> = { 'one/a': 100, 'one/b': 300 }
  const waiting: Record<string, number> = { 'one/a': 3, 'one/c': 1 }
  const ordered = orderForCall(routes, false, {
    random: () => 0.5,
    latency: id => times[id],
    load: id => waiting[id] ?? 0
  })
  // 4 × 100, 1 × 300, and c counts as fast as the fastest: 2 × 100.
  t.same(
    ordered.map(({ model, ranked }) => [model, ranked?.value]),
    [
      ['c', undefined],
      ['b', 300],
      ['a', 400]
    ]
  )
  const draws = [0.9, 0.1, 0.5]
  const equals = orderForCall(routes, false, { random: () => draws.shift() ?? 0, latency: () => undefined })
  t.same(
    equals.map(({ model }) => model),
    ['b', 'c', 'a'],
    'equals come by chance'
  )
})

t.test('the settings of a route apply to each of its models', async t => {
  const inner = { ...route('a'), defaults: { temperature: 1 }, ranked: { by: 'weight' as const, value: 3 } }
  const [first, second] = orderRoutes(
    { name: 'r', models: ['a', 'b'], hedgeAfterMs: 50, defaults: { a: { temperature: 0, seed: 7 } } },
    name => [name === 'a' ? inner : route(name)],
    new Map()
  )
  t.strictSame(
    first,
    { ...route('a'), defaults: { seed: 7, temperature: 1 }, hedgeAfterMs: 50 },
    'of a route within, the models and their own defaults count'
  )
  t.strictSame(second, { ...route('b'), hedgeAfterMs: 50 })
  const [limited] = orderRoutes(
    { name: 'r', models: ['a'], defaults: { a: { max_completion_tokens: 8000 } } },
    () => [{ ...route('a'), defaults: { max_tokens: 50 } }],
    new Map()
  )
  t.strictSame(limited?.defaults, { max_tokens: 50 }, 'under any name')
})

t.test('a duplicate model is tried once, at its first position', async t => {
  t.same(unique([route('a'), route('b'), route('a')]), [route('a'), route('b')])
})

t.test('a session is not computed for routes that do not use it, since that hashes a prompt', t => {
  const session: CallSession = {
    get id (): string {
      throw new Error('the session was looked for')
    },
    draw: () => {
      throw new Error('the session has drawn')
    }
  }
  const routes = orderRoutes(
    { name: 'r', models: ['a', 'b'], affinity: false },
    name => [route(name)],
    new Map()
  )
  t.same(orderForCall(routes, false, { random: () => 0.5, latency: () => undefined }, session), routes)
  t.end()
})

t.test('a model may have the name of a built-in property', async t => {
  const [found] = orderRoutes(
    { name: 'r', models: ['constructor'], strategy: 'weighted', weights: { b: 2 }, defaults: { b: {} } },
    name => [route(name)],
    new Map()
  )
  t.match(found?.ranked, { by: 'weight', value: 1 })
  t.equal(found?.defaults, undefined)
})
