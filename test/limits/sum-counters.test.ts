import t from 'tap'
import { idleSumMs, SumCounters } from '../../lib/limits/sum-counters.ts'
import { sumKeyOf } from '../../lib/limits/sum-keys.ts'
import { recordedAfterMs } from '../../lib/usage/refunds.ts'

const noonMs = Date.UTC(2025, 10, 21, 12)
const party = { kind: 'key', id: 'key-1' } as const
const key = sumKeyOf({ party, unit: 'nanoUsd', window: { per: 'month' } }, noonMs)

t.test('the remainder of a budget is computed as documented in docs/budgets.md', async t => {
  const sums = new SumCounters(() => noonMs)
  const amount = 20e9
  sums.setUsed(key, 12.5e9)
  sums.reserve(key, 0.2e9)
  sums.reserve(key, 0.2e9)
  sums.setElsewhere(key, 0.35e9)
  t.equal(sums.leftOf(key, amount), 6.75e9)
  sums.settle(key, 0.2e9, 0.07e9)
  t.equal(sums.leftOf(key, amount), 6.88e9)
  t.strictSame([...sums.holdings()], [
    { party: 'key-1', unit: 'nanoUsd', fromMs: Date.UTC(2025, 10), amount: 0.2e9 }
  ])
})

t.test('a refusal tells an exhausted sum from one whose remainder is reserved', async t => {
  const sums = new SumCounters(() => noonMs)
  sums.setUsed(key, 600)
  sums.reserve(key, 300)
  t.equal(sums.refusalOf(key, 1000, 100), undefined)
  t.equal(sums.refusalOf(key, 1000, 101), 'reserved')
  t.equal(sums.refusalOf(key, 1000, 401), 'too_small')
  t.equal(sums.refusalOf(key, 600, 0), 'exhausted')
})

t.test('a refund is kept even if the ledger does not have it yet', async t => {
  const clock = { ms: noonMs }
  const sums = new SumCounters(() => clock.ms)
  sums.setUsed(key, 900)
  sums.settle(key, 0, -800)
  t.equal(sums.setUsed(key, 900), 100, 'before it is recorded')
  clock.ms += 1.5 * recordedAfterMs
  t.equal(sums.setUsed(key, 100), 100, 'after that')
  t.equal(sums.setUsed(key, 950), 150, 'with what others have spent meanwhile, at least')
  clock.ms += 1.5 * recordedAfterMs
  t.equal(sums.setUsed(key, 950), 950)
})

t.test('sums in total that are unused for a day are forgotten, if the ledger has them', async t => {
  const clock = { ms: noonMs }
  const totalOf = (id: string): ReturnType<typeof sumKeyOf> =>
    sumKeyOf({ party: { kind: 'key', id }, unit: 'nanoUsd', window: { per: 'total' } }, clock.ms)
  for (const isReread of [true, false]) {
    const sums = new SumCounters(() => clock.ms, isReread)
    sums.reserve(totalOf('open'), 5)
    for (let day = 0; day < 10; day++) {
      sums.settle(totalOf('busy'), 0, 1)
      for (let count = 0; count < 1000; count++) sums.settle(totalOf(`${day} ${count}`), 0, 1)
      clock.ms += idleSumMs
    }
    t.equal(sums.size < 4000, isReread)
    t.strictSame([...sums.holdings()].map(({ party }) => party), ['open'])
    t.equal(sums.usedOf(totalOf('busy')), 10)
  }
})
