import t from 'tap'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { countersOf, heldSumName, heldSumOf, sumKeyOf, sumsOf } from '../../lib/limits/sum-keys.ts'

const noonMs = Date.UTC(2025, 10, 21, 12)
const ofKey = { party: { kind: 'key', id: 'key-1' }, unit: 'nanoUsd' } as const

t.test('each combination of party, unit, window and period has its own sum', async t => {
  const day = { ...ofKey, window: { per: 'day' } } as const
  const keys = [day, { ...day, party: { kind: 'tag', id: 'batch day' } } as const].flatMap(account => [
    sumKeyOf(account, noonMs),
    sumKeyOf({ ...account, unit: 'images' }, noonMs),
    sumKeyOf(account, noonMs + 86_400_000),
    sumKeyOf({ ...account, window: { per: 'day', timeZone: 'Europe/Berlin' } }, noonMs),
    sumKeyOf({ ...account, window: { per: 'month' } }, noonMs)
  ])
  t.equal(new Set(keys.map(({ name }) => name)).size, keys.length)
})

t.test('the names of sums in Redis never change', async t => {
  const day = { ...ofKey, window: { per: 'day' } } as const
  t.equal(sumKeyOf(day, noonMs).field, `budget:day:${Date.UTC(2025, 10, 21)}`)
  t.equal(sumKeyOf({ ...day, unit: 'images' }, noonMs).field, `images:day:${Date.UTC(2025, 10, 21)}`)
})

t.test('windows that begin at the same moment share the reservations of gateways on one store', async t => {
  const nameOf = (per: 'day' | 'month', unit: 'images' | 'nanoUsd', ms: number): string =>
    heldSumName(heldSumOf(sumKeyOf({ ...ofKey, unit, window: { per } }, ms)))
  const firstMs = Date.UTC(2025, 10, 1)
  t.equal(nameOf('day', 'nanoUsd', firstMs), nameOf('month', 'nanoUsd', firstMs))
  t.not(nameOf('day', 'nanoUsd', noonMs), nameOf('month', 'nanoUsd', noonMs))
  t.not(nameOf('day', 'nanoUsd', firstMs), nameOf('day', 'images', firstMs))
})

t.test('a call counts in the current sums of its accounts', async t => {
  const accounts = limitAccountsOf([
    { kind: 'key', id: 'key-1', limits: { requestsPerMinute: 5, budget: { usd: 1, per: 'day' } } },
    { kind: 'tag', id: 'batch', limits: { budget: { usd: 1, per: 'total' } } }
  ])
  const sums = sumsOf(countersOf(accounts, noonMs))
  t.match(sums, [
    { party: 'key-1', unit: 'nanoUsd', period: { fromMs: Date.UTC(2025, 10, 21) } },
    { party: 'tag:batch', unit: 'nanoUsd', period: { fromMs: 0, endMs: Infinity } }
  ])
  t.equal(sums.length, 2)
})
