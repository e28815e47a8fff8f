import t from 'tap'
import { amountToReserve, requestedOfSum, sumRefusal } from '../../lib/limits/reservation.ts'
import type { RateOrConcurrencyAccount, SumAccount } from '../../lib/limits/call-accounts.ts'

const party = { party: 'key', partyId: 'key-1' } as const
const budget: SumAccount = {
  ...party,
  counting: 'sum',
  unit: 'nanoUsd',
  limitName: 'budget',
  name: 'budget',
  window: { per: 'day' },
  max: 1000,
  strict: true
}
const requests: RateOrConcurrencyAccount = {
  ...party, counting: 'rate', unit: 'requests', limitName: 'requests_per_minute', max: 60
}
const tokens: RateOrConcurrencyAccount = {
  ...party, counting: 'rate', unit: 'tokens', limitName: 'tokens_per_minute', max: 100
}
const open: RateOrConcurrencyAccount = {
  ...party, counting: 'open', unit: 'calls', limitName: 'concurrent_calls', max: 4
}

t.test('a strict budget reserves between minimum and maximum, others the usual amount', async t => {
  const wanted = { nanoUsd: { max: 500, min: 20, typical: 90 } }
  t.strictSame(requestedOfSum(budget, wanted), { max: 500, min: 20 })
  t.strictSame(requestedOfSum({ ...budget, strict: false }, wanted), { max: 90, min: 90 })
  const all = requestedOfSum(budget, { nanoUsd: { max: 500 } })
  t.strictSame(all, { max: 500, min: 500 }, 'all or nothing')
  t.equal(amountToReserve(budget, wanted, { nanoUsd: 120 }), 120)
  t.equal(amountToReserve({ ...budget, strict: false }, wanted, { nanoUsd: 120 }), 90)
})

t.test('a call counts as one request and one open call, unless admitted earlier', async t => {
  const wanted = { tokens: { max: 5000 } }
  const accounts = [requests, tokens, open]
  t.strictSame(accounts.map(account => amountToReserve(account, wanted, {})), [1, 100, 1])
  t.strictSame(accounts.map(account => amountToReserve(account, wanted, {}, 'count')), [0, 100, 0])
})

t.test("a sum's refusal says whether a retry may succeed", async t => {
  t.strictSame(sumRefusal('budget', 'exhausted'), { reason: 'budget', waitMs: 0 })
  t.strictSame(sumRefusal('images', 'too_small'), { reason: 'images_too_small', waitMs: 0 })
  t.strictSame(sumRefusal('images', 'reserved'), { reason: 'images_reserved', waitMs: 1000 })
})
