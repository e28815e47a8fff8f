import t from 'tap'
import {
  maxAnswerCostOf,
  maxCompletionOf,
  maxCostOf,
  outputLimitOf,
  pricedRoutes
} from '../../lib/limits/prices.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Route } from '../../lib/core/route.ts'

const asOf = '2026-01-01'
const prices: Record<string, ModelEntry['price']> = {
  'one/cheap': { input: 1, output: 2, asOf },
  'one/expensive': { input: 10, output: 20, asOf },
  'one/cached': { input: 1, output: 2, cacheWrite: 1.25, cacheWriteHour: 2, asOf },
  'one/input': { input: 1, asOf }
}
const limits: Record<string, number> = { 'one/cheap': 100, 'one/expensive': 200 }
const models = {
  find: (id: string): ModelEntry => {
    const [price, limit] = [prices[id], limits[id]]
    return {
      ...unknownModelEntry('one', id.slice(4), 'openai'),
      ...price !== undefined && { price },
      capabilities: limit === undefined ? {} : { output_token_limit: limit }
    }
  }
}
const [cheap, expensive, cached, input, free] = ['cheap', 'expensive', 'cached', 'input', 'unpriced'].map(
  name => route(`one/${name}`)
) as [
  ReturnType<typeof route>,
  ReturnType<typeof route>,
  ReturnType<typeof route>,
  ReturnType<typeof route>,
  ReturnType<typeof route>
] // as many as there are names

function call (routes: readonly [Route, ...Route[]]): {
  readonly routes: readonly [Route, ...Route[]]
  readonly record: CallRecord
} {
  return { routes, record: new CallRecord('chat') }
}

t.test('models without a price are skipped, and the record says so', async t => {
  const { routes, record } = call([free, cheap, input])
  record.failedAttempts = [{ route: expensive, reason: 'not_in_only' }]
  t.strictSame(
    pricedRoutes({ routes, record }, models, { usd: 1, per: 'day' }, { prompt: 1, completion: 1 }),
    [cheap]
  )
  t.strictSame(record.failedAttempts, [
    { route: expensive, reason: 'not_in_only' },
    { route: free, reason: 'price_unknown' },
    { route: input, reason: 'price_unknown' }
  ])
})

t.test('models without a price are left out, unless the budget allows them', async t => {
  const budget = { usd: 1, per: 'day' } as const
  t.strictSame(pricedRoutes(call([free, cheap]), models, budget), [cheap])
  t.strictSame(pricedRoutes(call([free, cheap]), models, { ...budget, unpriced: 'allow' }), [free, cheap])
  t.throws(() => pricedRoutes(call([free]), models, budget), {
    code: 'insufficient_permissions',
    param: 'model',
    message:
      'This API key has a budget, and no price is known for the model `one/unpriced`. Set its price in the configuration, or `unpriced: allow` on the budget.'
  })
})

t.test('a field without a price is refused by name, unless the budget allows it', async t => {
  const budget = { usd: 1, per: 'day' } as const
  const estimate = { prompt: 1, completion: 1, unpriced: 'service_tier' }
  t.strictSame(pricedRoutes(call([cheap]), models, { ...budget, unpriced: 'allow' }, estimate), [cheap])
  t.throws(() => pricedRoutes(call([cheap]), models, budget, estimate), {
    code: 'insufficient_permissions',
    param: 'service_tier',
    message: /Leave it out/
  })
})

t.test('a price has to cover what the call may use', async t => {
  const budget = { usd: 1, per: 'day' } as const
  t.strictSame(
    pricedRoutes(call([input, cheap]), models, budget, { prompt: 1, completion: 1 }),
    [cheap],
    'an answer costs something'
  )
  t.strictSame(
    pricedRoutes(call([input]), models, budget, { prompt: 1, completion: 0 }),
    [input],
    'where there is none it does not'
  )
})

t.test('a call may cost what the most expensive of its models asks', async t => {
  const amounts = { prompt: 1000, completion: 100 }
  t.equal(maxCostOf([cheap], models, amounts), 1_200_000)
  t.equal(maxCostOf([cheap, expensive, free], models, amounts), 12_000_000)
  t.equal(maxCostOf([free], models, amounts), 0)
  t.equal(
    maxCostOf([cached], models, { ...amounts, writesCache: true }),
    2_200_000,
    'all of the prompt written for an hour'
  )
  t.equal(
    maxCostOf([expensive], models, { prompt: 1, completion: Infinity }),
    2 ** 52,
    'a bound that can be added up'
  )
})

t.test('answers cost what they add', async t => {
  t.equal(maxAnswerCostOf([cheap, expensive], models, { prompt: 1000 }), 20_000_000_000)
  t.equal(maxAnswerCostOf([free], models, { prompt: 1000 }), 0)
})

t.test('the request bounds an answer, else the model that may write most', async t => {
  t.equal(maxCompletionOf({ prompt: 0, completion: 0, maxCompletion: 7, answers: 3 }, [cheap], models, 1), 21)
  t.equal(maxCompletionOf({ prompt: 0, completion: 0 }, [cheap, expensive], models, 5000), 200)
  t.equal(
    maxCompletionOf({ prompt: 0, completion: 0 }, [cheap, free], models, 5000),
    5000,
    'the default where a model has no known limit'
  )
  t.equal(
    maxCompletionOf({ prompt: 0, completion: 0, reasoning: 100, answers: 2 }, [free], models, 5000),
    10_200,
    'and what it may reason with'
  )
  t.equal(
    maxCompletionOf({ prompt: 0, completion: 0, reasoning: 100 }, [cheap, expensive], models, 150),
    200,
    'but no more than the model can'
  )
  t.same([outputLimitOf(models.find('one/cheap')), outputLimitOf(undefined)], [100, Infinity])
})
