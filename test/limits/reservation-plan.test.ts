import t from 'tap'
import { estimateOf, type Estimate } from '../../lib/limits/estimate.ts'
import {
  planReservation,
  checkGuardsPriced,
  checkPriced,
  pricedRoutes,
  type PlanOptions
} from '../../lib/limits/reservation-plan.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import { settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { JudgeSpending } from '../../lib/guards/text-judge.ts'
import { CallRecord } from '../../lib/core/record.ts'
import type { PartyKind } from '../../lib/limits/call-accounts.ts'
import type { Route } from '../../lib/core/route.ts'

/** A prompt token costs 1,000 billionths of a dollar, an answer token 2,000. */
const priced = route('one/priced')
const unpriced = route('one/unpriced')
const models = {
  find: (id: string): ModelEntry => ({
    ...unknownModelEntry('one', id.slice(4), 'openai'),
    ...id === priced.modelId && { price: { input: 1, output: 2, asOf: '2026-01-01' } }
  })
}
const estimate = estimateOf({
  prompt: { typical: 100, max: 200 }, answer: { typical: 50, limit: 80, min: 10 }
})
const budget = { usd: 1, per: 'day' } as const

function plan (
  limits: PartyLimits,
  options: Partial<PlanOptions> = {},
  { call = routedCall({}, { routes: [priced] }), spending = [] as readonly JudgeSpending[] } = {}
) {
  return planReservation(call, estimate, [{ kind: 'key', id: 'key-1', limits }], spending, {
    models, settings: settings(), isEstimated: true, onlyGuardCosts: false, ...options
  })
}

t.test('without a budget a call reserves the tokens of its estimate, and no money', async t => {
  const { request, budgets, isStrict } = plan({ tokensPerMinute: 1000, imagesPerDay: 5 })
  t.strictSame(request.wanted, { tokens: { max: 150 } })
  t.strictSame(
    request.accounts.map(({ limitName }) => limitName),
    ['tokens_per_minute'],
    'a limit of images is for others'
  )
  t.strictSame([budgets, isStrict, request.rowId], [[], false, undefined])
})

t.test('a strict budget reserves the maximum cost of a call, or the least that is useful', async t => {
  const call = routedCall({}, { routes: [priced] })
  const { request, budgets, isStrict } = plan({ budget }, {}, { call })
  t.strictSame(request.wanted.nanoUsd, { max: 360_000, min: 220_000, typical: 200_000 })
  t.strictSame(budgets, [{ party: 'key', partyId: 'key-1', budget }])
  t.ok(isStrict)
  t.type(request.rowId, 'string')
  t.equal(request.rowId, call.record.limits.rowId, 'the usage record settles it')
})

t.test('a budget that is not strict reserves the usual cost of a call', async t => {
  for (const [limits, options] of [
    [{ budget, strict: false }, {}],
    [{ budget }, { isEstimated: false }]
  ] as const) {
    const { request, isStrict } = plan(limits, options)
    t.strictSame(request.wanted.nanoUsd, { max: 200_000, typical: 200_000 })
    t.notOk(isStrict)
  }
})

t.test('a budget leaves out routes without a price', async t => {
  const call = routedCall({}, { routes: [unpriced, priced] })
  t.strictSame(plan({ budget }, {}, { call }).routes, [priced])
  t.strictSame(plan({}, {}, { call }).routes, [unpriced, priced])
})

t.test("a budget pays for guards' model calls, whoever pays for the call", async t => {
  const call = routedCall({}, { routes: [priced] })
  call.record.caller.usesOwnProviderKey = true
  t.strictSame(plan({ budget }, {}, { call }).budgets, [])
  const spending = [{ route: priced, promptTokens: 10, answerTokens: 5 }]
  const cost = (10 + 400) * 1000 + 5 * 2000
  t.strictSame(plan({ budget }, {}, { call, spending }).request.wanted, {
    tokens: { max: 150 }, nanoUsd: { max: cost, min: cost, typical: cost }
  })
  t.strictSame(plan({ budget }, { onlyGuardCosts: true }, { spending }).request.wanted, {
    tokens: { max: 0 }, nanoUsd: { max: cost, min: cost, typical: cost }
  })
})

const asOf = '2026-01-01'
const prices: Record<string, ModelEntry['price']> = {
  'one/cheap': { input: 1, output: 2, asOf },
  'one/expensive': { input: 10, output: 20, asOf },
  'one/input': { input: 1, asOf }
}
const pricedModels = {
  find: (id: string): ModelEntry => {
    const price = prices[id]
    return { ...unknownModelEntry('one', id.slice(4), 'openai'), ...price !== undefined && { price } }
  }
}
const cheap = route('one/cheap')
const expensive = route('one/expensive')
const onlyInput = route('one/input')
const free = route('one/unpriced')

const ofKey = { party: 'key', partyId: 'k', budget: { usd: 1, per: 'day' } } as const
const allowing = { ...ofKey, budget: { ...ofKey.budget, unpriced: 'allow' } } as const

function estimateOfTokens (prompt: number, answer: number): Estimate {
  return estimateOf({ prompt: { typical: prompt }, answer: { typical: answer } })
}

function callTo (routes: readonly [Route, ...Route[]]): {
  readonly routes: readonly [Route, ...Route[]]
  readonly record: CallRecord
} {
  return { routes, record: new CallRecord('chat') }
}

t.test('models without a price are skipped, and the record says so', async t => {
  const { routes, record } = callTo([free, cheap, onlyInput])
  record.routing.unusedRoutes = [{ route: expensive, reason: 'not_in_only' }]
  t.strictSame(
    pricedRoutes({ routes, record }, pricedModels, [ofKey], estimateOfTokens(1, 1)),
    [cheap]
  )
  t.strictSame(record.routing.unusedRoutes, [
    { route: expensive, reason: 'not_in_only' },
    { route: free, reason: 'price_unknown' },
    { route: onlyInput, reason: 'price_unknown' }
  ])
})

t.test('models without a price are left out unless the budget allows them', async t => {
  t.strictSame(pricedRoutes(callTo([free, cheap]), pricedModels, [ofKey]), [cheap])
  t.strictSame(pricedRoutes(callTo([free, cheap]), pricedModels, [allowing]), [free, cheap])
  t.throws(() => pricedRoutes(callTo([free]), pricedModels, [ofKey]), {
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
    t.throws(() => pricedRoutes(callTo([free]), pricedModels, [allowing, owned]), refusing)
    t.throws(() => checkPriced('speed', [allowing, owned]), refusing)
    t.throws(() => checkGuardsPriced([free], pricedModels, [allowing, owned]), refusing)
  }
})

t.test('a field without a price is refused by name unless the budget allows it', async t => {
  const priority = { ...estimateOfTokens(1, 1), unpriced: 'service_tier' }
  t.strictSame(pricedRoutes(callTo([cheap]), pricedModels, [allowing], priority), [cheap])
  t.throws(() => pricedRoutes(callTo([cheap]), pricedModels, [ofKey], priority), {
    code: 'insufficient_permissions',
    param: 'service_tier',
    message: /Leave it out/
  })
})

t.test('a price must cover everything the call may use', async t => {
  t.strictSame(
    pricedRoutes(callTo([onlyInput, cheap]), pricedModels, [ofKey], estimateOfTokens(1, 1)),
    [cheap],
    'an answer costs something'
  )
  t.strictSame(
    pricedRoutes(callTo([onlyInput]), pricedModels, [ofKey], estimateOfTokens(1, 0)),
    [onlyInput],
    'where there is none it does not'
  )
})
