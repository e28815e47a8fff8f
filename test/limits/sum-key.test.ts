import t from 'tap'
import { accountsOf } from '../../lib/limits/call-accounts.ts'
import { sumKey, sumKeysOf } from '../../lib/limits/sum-key.ts'
import { periodOf } from '../../lib/limits/windows.ts'

const noonMs = Date.UTC(2025, 10, 21, 12)

t.test('each party, unit, window and period has a sum of its own', async t => {
  const keys = ['key-1', 'tag:batch day'].flatMap(party => [
    sumKey(party, 'nanoUsd', periodOf({ per: 'day' }, noonMs)),
    sumKey(party, 'images', periodOf({ per: 'day' }, noonMs)),
    sumKey(party, 'nanoUsd', periodOf({ per: 'day' }, noonMs + 86_400_000)),
    sumKey(party, 'nanoUsd', periodOf({ per: 'day', timeZone: 'Europe/Berlin' }, noonMs)),
    sumKey(party, 'nanoUsd', periodOf({ per: 'month' }, noonMs))
  ])
  t.equal(new Set(keys.map(({ name }) => name)).size, keys.length)
})

t.test('a call counts in the sums of its accounts as they are at its moment', async t => {
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
