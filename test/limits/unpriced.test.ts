import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { estimateOf, type Estimate } from '../../lib/limits/estimate.ts'
import { checkGuardsPriced, checkPriced, dropUnpriced } from '../../lib/limits/unpriced.ts'
import { unknownModelEntry } from '../../lib/models/known-models.ts'
import { route } from '../support/routes.ts'
import type { ModelEntry } from '../../lib/core/model.ts'
import type { Route } from '../../lib/core/route.ts'
import type { PartyKind } from '../../lib/limits/call-accounts.ts'

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

const ofKey = { party: { kind: 'key', id: 'k' }, budget: { usd: 1, per: 'day' } } as const
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
    dropUnpriced({ routes, record }, pricedModels, [ofKey], estimateOfTokens(1, 1)),
    [cheap]
  )
  t.strictSame(record.routing.unusedRoutes, [
    { route: expensive, reason: 'not_in_only' },
    { route: free, reason: 'price_unknown' },
    { route: onlyInput, reason: 'price_unknown' }
  ])
})

t.test('models without a price are left out unless the budget allows them', async t => {
  t.strictSame(dropUnpriced(callTo([free, cheap]), pricedModels, [ofKey]), [cheap])
  t.strictSame(dropUnpriced(callTo([free, cheap]), pricedModels, [allowing]), [free, cheap])
  t.throws(() => dropUnpriced(callTo([free]), pricedModels, [ofKey]), {
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
  for (const [kind, text] of Object.entries(parties)) {
    const owned = { ...ofKey, party: { kind: kind as PartyKind, id: 'one' } } // they are its keys
    const refusing = { message: new RegExp(`, and ${text} has a budget\\. `) }
    t.throws(() => dropUnpriced(callTo([free]), pricedModels, [allowing, owned]), refusing)
    t.throws(() => checkPriced('speed', [allowing, owned]), refusing)
    t.throws(() => checkGuardsPriced([free], pricedModels, [allowing, owned]), refusing)
  }
})

t.test('a field without a price is refused by name unless the budget allows it', async t => {
  const priority = { ...estimateOfTokens(1, 1), unpriced: 'service_tier' }
  t.strictSame(dropUnpriced(callTo([cheap]), pricedModels, [allowing], priority), [cheap])
  t.throws(() => dropUnpriced(callTo([cheap]), pricedModels, [ofKey], priority), {
    code: 'insufficient_permissions',
    param: 'service_tier',
    message: /Leave it out/
  })
})

t.test('a price must cover everything the call may use', async t => {
  t.strictSame(
    dropUnpriced(callTo([onlyInput, cheap]), pricedModels, [ofKey], estimateOfTokens(1, 1)),
    [cheap],
    'an answer costs something'
  )
  t.strictSame(
    dropUnpriced(callTo([onlyInput]), pricedModels, [ofKey], estimateOfTokens(1, 0)),
    [onlyInput],
    'where there is none it does not'
  )
})
