import t from 'tap'
import {
  maxAnswerCostOf,
  maxCompletionOf,
  maxCostOf,
  outputLimitOf,
  checkPriced,
  checkGuardsPriced,
  pricedRoutes,
  affordableTokens
} from '../../lib/limits/prices.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { PartyKind } from '../../lib/limits/call-accounts.ts'
import type { Route } from '../../lib/core/route.ts'
import { estimateChat } from '../../lib/limits/estimate.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

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

const ofKey = { party: 'key', partyId: 'k', budget: { usd: 1, per: 'day' } } as const
const allowing = { ...ofKey, budget: { ...ofKey.budget, unpriced: 'allow' } } as const

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
    pricedRoutes({ routes, record }, models, [ofKey], { prompt: 1, completion: 1 }),
    [cheap]
  )
  t.strictSame(record.failedAttempts, [
    { route: expensive, reason: 'not_in_only' },
    { route: free, reason: 'price_unknown' },
    { route: input, reason: 'price_unknown' }
  ])
})

t.test('models without a price are left out unless the budget allows them', async t => {
  t.strictSame(pricedRoutes(call([free, cheap]), models, [ofKey]), [cheap])
  t.strictSame(pricedRoutes(call([free, cheap]), models, [allowing]), [free, cheap])
  t.throws(() => pricedRoutes(call([free]), models, [ofKey]), {
    code: 'insufficient_permissions',
    param: 'model',
    message:
      'No price is known for the model `one/unpriced`, and this API key has a budget. ' +
      'Set its price in the configuration, or `unpriced: allow` on the budget.'
  })
})

t.test("a model without a price is refused with the name of the budget's owner", async t => {
  const parties = {
    key: 'this API key',
    project: 'this project',
    member: 'this member',
    end_user: 'this end user',
    tag: 'the tag `one`',
    model: 'the model `one`'
  }
  for (const [party, text] of Object.entries(parties)) {
    const owned = { ...ofKey, party: party as PartyKind, partyId: 'one' } // they are its keys
    const refusing = { message: new RegExp(`, and ${text} has a budget\\. `) }
    t.throws(() => pricedRoutes(call([free]), models, [allowing, owned]), refusing)
    t.throws(() => checkPriced('speed', [allowing, owned]), refusing)
    t.throws(() => checkGuardsPriced([free], models, [allowing, owned]), refusing)
  }
})

t.test('a field without a price is refused by name unless the budget allows it', async t => {
  const estimate = { prompt: 1, completion: 1, unpriced: 'service_tier' }
  t.strictSame(pricedRoutes(call([cheap]), models, [allowing], estimate), [cheap])
  t.throws(() => pricedRoutes(call([cheap]), models, [ofKey], estimate), {
    code: 'insufficient_permissions',
    param: 'service_tier',
    message: /Leave it out/
  })
})

t.test('a price must cover everything the call may use', async t => {
  t.strictSame(
    pricedRoutes(call([input, cheap]), models, [ofKey], { prompt: 1, completion: 1 }),
    [cheap],
    'an answer costs something'
  )
  t.strictSame(
    pricedRoutes(call([input]), models, [ofKey], { prompt: 1, completion: 0 }),
    [input],
    'where there is none it does not'
  )
})

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

const request: ChatInput = { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(400) }] }
const modelsAt = (price?: ModelEntry['price']) => ({
  find: (): ModelEntry => ({
    ...unknownModelEntry('one', 'm', 'openai'),
    capabilities: { output_token_limit: 4096 },
    ...price !== undefined && { price }
  })
})
const priced = modelsAt({ input: 1, output: 10, asOf: '2026-01-01' })

function callWith (reserved: number | undefined, parts: Partial<ChatInput> = {}) {
  const call = routedCall({ ...request, ...parts })
  call.record.maxCostNanoUsd = reserved
  return call
}

t.test('a call without a reservation is not limited', async t => {
  t.equal(affordableTokens(callWith(undefined), priced), undefined)
})

t.test('the answer may use what the longest possible prompt leaves', async t => {
  // 101 tokens by its characters: at most 218, at 1000 billionths each; 10,000 for a token of the answer.
  t.strictSame(affordableTokens(callWith(218_000 + 50_000), priced), { affordable: 5, bound: 4096, min: 16 })
  t.equal(affordableTokens(callWith(217_999), priced)?.affordable, -1, 'not even the prompt')
})

t.test('usage of earlier turns is deducted first', async t => {
  const call = callWith(218_000 + 100_000 + 50_000)
  call.record.usage = { promptTokens: 50, completionTokens: 5, totalTokens: 55 }
  t.equal(affordableTokens(call, priced)?.affordable, 5)
})

t.test('billed usage of failed attempts is deducted first', async t => {
  const call = callWith(218_000 + 100_000 + 50_000)
  const usage = { promptTokens: 50, completionTokens: 5, totalTokens: 55 }
  call.record.wasted = [{ modelId: call.routes[0].modelId, usage }]
  t.equal(affordableTokens(call, priced)?.affordable, 5)
  call.record.callerProviderKey = true
  t.equal(affordableTokens(call, priced), undefined, 'the provider bills the caller')
})

t.test('searches are deducted first, both allowed and completed ones', async t => {
  const searching = modelsAt({ input: 1, output: 10, perThousandSearches: 10, asOf: '2026-01-01' })
  const asWritten = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }
  const { maxPrompt = 0 } = estimateChat({ ...request, asWritten })
  const call = callWith(maxPrompt * 1000 + 5 * 10_000_000 + 50_000, { asWritten })
  call.record.usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, searches: 2 }
  t.equal(affordableTokens(call, searching)?.affordable, 5)
})

t.test('choices share the amount, and the request limits each', async t => {
  t.strictSame(
    affordableTokens(callWith(2 * 218_000 + 100_000, { n: 2, max_completion_tokens: 7 }), priced),
    { affordable: 5, bound: 7, min: 7 }
  )
})

t.test('free answers are unlimited', async t => {
  t.equal(
    affordableTokens(callWith(0), modelsAt({ input: 0, output: 0, asOf: '2026-01-01' }))?.affordable,
    Infinity
  )
})

t.test('settings of routes limit the answer, and a loose estimate may cost more', async t => {
  const call = callWith(218_000 + 50_000)
  const routes = [{ ...call.routes[0], settings: { max_tokens: 7 } }] as const
  t.strictSame(affordableTokens({ ...call, routes }, priced), { affordable: 5, bound: 7, min: 7 })
  t.equal(
    affordableTokens(call, priced, request => ({ ...estimateChat(request), maxPrompt: 228 }))?.affordable,
    4
  )
})
