import t from 'tap'
import { accountsOf } from '../../lib/limits/call-accounts.ts'
import { heldSumName, heldSumOf, sumKey, sumKeysOf } from '../../lib/limits/sum-key.ts'
import { periodOf } from '../../lib/limits/windows.ts'

const noonMs = Date.UTC(2025, 10, 21, 12)

t.test('each combination of party, unit, window and period has its own sum', async t => {
  const keys = ['key-1', 'tag:batch day'].flatMap(party => [
    sumKey(party, 'nanoUsd', periodOf({ per: 'day' }, noonMs)),
    sumKey(party, 'images', periodOf({ per: 'day' }, noonMs)),
    sumKey(party, 'nanoUsd', periodOf({ per: 'day' }, noonMs + 86_400_000)),
    sumKey(party, 'nanoUsd', periodOf({ per: 'day', timeZone: 'Europe/Berlin' }, noonMs)),
    sumKey(party, 'nanoUsd', periodOf({ per: 'month' }, noonMs))
  ])
  t.equal(new Set(keys.map(({ name }) => name)).size, keys.length)
})

t.test('the names of sums in Redis never change', async t => {
  const day = periodOf({ per: 'day' }, noonMs)
  t.equal(sumKey('key-1', 'nanoUsd', day).field, `budget:day:${Date.UTC(2025, 10, 21)}`)
  t.equal(sumKey('key-1', 'images', day).field, `images:day:${Date.UTC(2025, 10, 21)}`)
})

t.test('windows that begin at the same moment share the reservations of gateways on one store', async t => {
  const nameOf = (per: 'day' | 'month', unit: 'images' | 'nanoUsd', ms: number): string =>
    heldSumName(heldSumOf(sumKey('key-1', unit, periodOf({ per }, ms))))
  const firstMs = Date.UTC(2025, 10, 1)
  t.equal(nameOf('day', 'nanoUsd', firstMs), nameOf('month', 'nanoUsd', firstMs))
  t.not(nameOf('day', 'nanoUsd', noonMs), nameOf('month', 'nanoUsd', noonMs))
  t.not(nameOf('day', 'nanoUsd', firstMs), nameOf('day', 'images', firstMs))
})

t.test('a call counts in the current sums of its accounts', async t => {
  const accounts = accountsOf([
    { kind: 'key', id: 'key-1', limits: { requestsPerMinute: 5, budget: { usd: 1, per: 'day' } } },
    { kind: 'tag', id: 'batch', limits: { budget: { usd: 1, per: 'total' } } }
  ])
  t.match(sumKeysOf(accounts, noonMs), [
    { party: 'key-1', unit: 'nanoUsd', period: { fromMs: Date.UTC(2025, 10, 21) } },
    { party: 'tag:batch', unit: 'nanoUsd', period: { fromMs: 0, endMs: Infinity } }
  ])
  t.equal(sumKeysOf(accounts, noonMs).length, 2)
})
