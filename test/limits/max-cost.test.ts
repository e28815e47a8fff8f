import t from 'tap'
import { maxAnswerCostOf, maxCompletionOf, maxCostOf, outputLimitOf } from '../../lib/limits/max-cost.ts'
import { noTokens } from '../../lib/limits/estimate.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import type { ModelEntry } from '../../lib/core/model.ts'

const asOf = '2026-01-01'
const prices: Record<string, ModelEntry['price']> = {
  'one/cheap': { input: 1, output: 2, asOf },
  'one/expensive': { input: 10, output: 20, asOf },
  'one/cached': { input: 1, output: 2, cacheWrite: 1.25, cacheWriteHour: 2, asOf }
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
const cheap = route('one/cheap')
const expensive = route('one/expensive')
const cached = route('one/cached')
const free = route('one/unpriced')

t.test('a call may cost as much as its most expensive model', async t => {
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

t.test('the answer is limited by the request, else by the largest model', async t => {
  const { answer } = noTokens
  t.equal(maxCompletionOf({ ...answer, limit: 7, count: 3 }, [cheap], models, 1), 21)
  t.equal(maxCompletionOf(answer, [cheap, expensive], models, 5000), 200)
  t.equal(
    maxCompletionOf(answer, [cheap, free], models, 5000),
    5000,
    'the default where a model has no known limit'
  )
  t.equal(
    maxCompletionOf({ ...answer, reasoning: 100, count: 2 }, [free], models, 5000),
    10_200,
    'and what it may reason with'
  )
  t.equal(
    maxCompletionOf({ ...answer, reasoning: 100 }, [cheap, expensive], models, 150),
    200,
    'but no more than the model can'
  )
  t.same([outputLimitOf(models.find('one/cheap')), outputLimitOf(undefined)], [100, Infinity])
})
