import t from 'tap'
import { estimateOf } from '../../lib/limits/estimate.ts'
import { planReservation, type PlanOptions } from '../../lib/limits/reservation-plan.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import { settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { JudgeSpending } from '../../lib/guards/text-judge.ts'

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
  t.strictSame(budgets, [{ party: { kind: 'key', id: 'key-1' }, budget }])
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

t.test('a price is required if any budget requires one, also one above the lowest of its window', async t => {
  const call = routedCall({}, { routes: [unpriced, priced] })
  const lowest = { ...budget, unpriced: 'allow' } as const
  const limits = { budgets: [lowest, { usd: 2, per: 'day' }] } as const
  t.strictSame(plan(limits, {}, { call }).routes, [priced])
  t.strictSame(plan({ budgets: [lowest] }, {}, { call }).routes, [unpriced, priced])
})
