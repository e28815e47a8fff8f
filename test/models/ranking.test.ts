import fc from 'fast-check'
import t from 'tap'
import { createModels } from '../../lib/models/create-models.ts'
import { blendedPrice, costAttribute } from '../../lib/models/price.ts'
import { rank } from '../../lib/models/ranking.ts'
import type { Attributes, ModelEntry } from '../../lib/core/model.ts'
import { orderRoutes, orderForCall } from '../../lib/routing/route-strategies.ts'
import { bareEntry } from '../../lib/models/known-models.ts'
import { modelSettings, settings } from '../support/settings.ts'
import type { Route } from '../../lib/core/route.ts'
import type { RouteSettings } from '../../lib/core/settings.ts'

const route = (model: string): Route => ({ providerId: 'one', model, modelId: `one/${model}` })

/** Names in order, each with its score. */
function ranked (models: Record<string, Attributes>, agent: Attributes | undefined, named: readonly string[] = []): Array<[string, number | undefined]> {
  const candidates = Object.entries(models).map(([name, attributes]) => ({ route: route(name), attributes }))
  return rank(candidates, agent, named).map(({ model, ranked }) => [
    model, ranked?.value === undefined ? undefined : Math.round(ranked.value * 100) / 100
  ])
}

t.test('models are ordered by the share of what is needed that they have', async t => {
  const a = { intelligence: 0.9, speed: 0.4, cost: 0.8 }
  const b = { intelligence: 0.5, speed: 0.9, cost: 0.1 }
  const none = {}
  const table: Array<[string, Record<string, Attributes>, Attributes | undefined, Array<[string, number | undefined]>]> = [
    ['the example of the README', { b, a }, { complexity: 0.8, efficiency: 0.4 }, [['a', 0.92], ['b', 0.75]]],
    ['the other one', { a, b }, { complexity: 0.3, efficiency: 0.4 }, [['b', 1], ['a', 0.86]]],
    ['complexity needs intelligence', { b, a }, { complexity: 1 }, [['a', 0.9], ['b', 0.5]]],
    ['and little of it is had by both', { b, a }, { complexity: 0.2 }, [['b', 1], ['a', 1]]],
    ['efficiency needs speed and low cost', { a, b }, { efficiency: 1 }, [['b', 0.9], ['a', 0.3]]],
    ['a cost that is needed is one at most', { a, b }, { cost: 0.2 }, [['b', 1], ['a', 0.25]]],
    ['a caller with `cost: 1` needs nothing', { a, b }, { cost: 1 }, [['a', undefined], ['b', undefined]]],
    ['other names mean themselves', { x: { friendliness: 0.2 }, y: { friendliness: 0.6 } }, { friendliness: 0.8 }, [['y', 0.75], ['x', 0.25]]],
    ['accuracy, creativity', { x: { accuracy: 1, creativity: 0 }, y: { accuracy: 0.4, creativity: 1 } }, { accuracy: 0.5, creativity: 0.5 }, [['y', 0.9], ['x', 0.5]]],
    ['an unknown attribute is half of what is needed', { x: { accuracy: 0.2 }, none, y: { accuracy: 0.6 } }, { accuracy: 0.8 }, [['y', 0.75], ['none', 0.5], ['x', 0.25]]],
    ['without a need the order stays', { b, a }, {}, [['b', undefined], ['a', undefined]]],
    ['nor with one of nothing', { b, a }, { complexity: 0 }, [['b', undefined], ['a', undefined]]],
    ['names of objects are names like others', { b, a }, { constructor: 1 }, [['b', 0.5], ['a', 0.5]]]
  ]
  for (const [name, models, agent, expected] of table) t.same(ranked(models, agent), expected, name)
  t.same(ranked({ a, b, none }, undefined, ['speed', 'cost']), [['b', 0.9], ['none', 0.5], ['a', 0.3]], 'without an agent, all of what is named')
})

t.test('ranking neither loses nor adds a route, goes down in score, and leaves equals in order', async t => {
  const attributes = fc.dictionary(fc.constantFrom('intelligence', 'speed', 'cost', 'x'), fc.constantFrom(0, 0.25, 0.5, 1))
  const agent = fc.option(fc.dictionary(fc.constantFrom('complexity', 'efficiency', 'cost', 'x'), fc.constantFrom(0, 0.5, 1)), { nil: undefined })
  fc.assert(fc.property(fc.array(attributes, { maxLength: 8 }), agent, (models, needed) => {
    const candidates = models.map((attributes, index) => ({ route: route(String(index)), attributes }))
    const found = rank(candidates, needed, ['intelligence', 'x'])
    t.same(found.map(({ model }) => model).toSorted(), candidates.map(({ route }) => route.model).toSorted())
    for (const [index, { model, ranked }] of found.entries()) {
      const before = found[index - 1]
      if (before === undefined) continue
      if (ranked === undefined || before.ranked?.value === ranked.value) t.ok(Number(before.model) < Number(model), 'stable')
      else t.ok(Number(before.ranked?.value) > Number(ranked.value))
      t.ok((ranked?.value ?? 0) >= 0 && (before.ranked?.value ?? 0) <= 1)
    }
  }), { numRuns: 200 })
})

t.test('cost follows from the price: expensive is 1', async t => {
  const asOf = '2026-01-01'
  t.equal(blendedPrice({ input: 1, output: 5, asOf }), 2)
  t.equal(blendedPrice({ input: 1, asOf }), 1)
  t.equal(blendedPrice({ output: 1, asOf }), undefined)
  t.equal(costAttribute(undefined), undefined)
  for (const [usd, cost] of [[0, 0], [0.01, 0], [0.1, 0], [1, 1 / 3], [10, 2 / 3], [100, 1], [5000, 1]] as const) {
    t.ok(Math.abs((costAttribute({ input: usd, asOf }) ?? NaN) - cost) < 1e-9, `${usd} USD are ${cost}`)
  }
})

t.test('a route is in the order its strategy says', async t => {
  const prices: Record<string, number | undefined> = { a: 3, b: undefined, c: 0.5 }
  const entries = new Map(Object.entries(prices).map(([name, usd]): [string, ModelEntry] => {
    const entry = bareEntry('one', name, 'openai')
    return [entry.id, usd === undefined ? entry : { ...entry, price: { input: usd, asOf: '2026-01-01' } }]
  }))
  const order = (parts: Partial<RouteSettings>, random = () => 0.5, latency: (id: string, streamed: boolean) => number | undefined = () => undefined): string[] => {
    const routes = orderRoutes({ name: 'r', models: ['a', 'b', 'c', 'a'], ...parts }, name => [route(name)], entries)
    return orderForCall(routes, true, { random, latency }).map(({ model }) => model)
  }
  t.same(order({}), ['a', 'b', 'c'])
  t.same(order({ strategy: 'in_order' }), ['a', 'b', 'c'])
  t.same(order({ strategy: 'cheapest' }), ['c', 'a', 'b'], 'no known price is last')
  const times: Record<string, number | undefined> = { 'one/a': 300, 'one/b': 100 }
  t.same(order({ strategy: 'fastest' }, undefined, id => times[id]), ['c', 'b', 'a'], 'what is not known is found out')
  t.same(order({ strategy: 'fastest' }, undefined, (_, streamed) => streamed ? 1 : undefined), ['a', 'b', 'c'])

  const draws = [0.9, 0.1, 0.5]
  t.same(order({ strategy: 'weighted' }, () => draws.shift() ?? 0), ['b', 'c', 'a'])
  t.same(order({ strategy: 'weighted', weights: { a: 0, b: 0 } }, () => 0), ['c', 'a', 'b'], 'no weight, only when the others fail')

  let seed = 1
  const random = (): number => (seed = seed * 16807 % 2147483647) / 2147483647
  const first: Record<string, number> = {}
  for (let call = 0; call < 4000; call++) {
    const [name = ''] = order({ strategy: 'weighted', models: ['a', 'b'], weights: { a: 3 } }, random)
    first[name] = (first[name] ?? 0) + 1
  }
  t.ok(Math.abs((first['a'] ?? 0) - 3000) < 120, `${first['a']} of 4000 went to the one with three of four shares`)
})

t.test('the strategy of a route holds when a caller names it', async t => {
  const models = createModels(settings({
    models: [modelSettings('cheap', { alias: 'thrifty' }), modelSettings('openai/gpt-5', { price: { input: 9 } }), modelSettings('openai/gpt-5-mini', { price: { input: 1 } })],
    routes: [
      { name: 'thrifty', models: ['openai/gpt-5', 'openai/gpt-5-mini'], strategy: 'cheapest' },
      { name: 'shared', models: ['openai/gpt-5', 'openai/gpt-5-mini'], strategy: 'weighted', weights: { 'openai/gpt-5': 0 } },
      { name: 'quick', models: ['openai/gpt-5', 'openai/gpt-5-mini'], strategy: 'fastest' },
      { name: 'through', models: ['shared', 'openai/gpt-5-nano'] }
    ]
  }), new Set(['openai']), [], { random: () => 0.5, latency: (id, streamed) => id.endsWith('mini') === streamed ? 10 : 20 })
  const ids = (name: string, streamed?: boolean): string[] => models.routes(name, streamed).map(({ modelId }) => modelId)
  t.same(ids('thrifty'), ['openai/gpt-5-mini', 'openai/gpt-5'])
  t.same(ids('cheap'), ids('thrifty'), 'or an alias of it')
  t.same(models.routes('through').map(({ model, ranked }) => [model, ranked]),
    [['gpt-5', undefined], ['gpt-5-mini', undefined], ['gpt-5-nano', undefined]], 'but not within another')
  t.same(ids('shared'), ['openai/gpt-5-mini', 'openai/gpt-5'])
  t.same(ids('quick', true), ['openai/gpt-5-mini', 'openai/gpt-5'])
  t.same(ids('quick'), ['openai/gpt-5', 'openai/gpt-5-mini'], 'whole answers have times of their own')
  t.same(models.routes('quick')[0]?.ranked, { by: 'first_byte', value: 10 })
  t.same(models.routes('openai/gpt-5')[0]?.ranked, undefined)
})
