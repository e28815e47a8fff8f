import t from 'tap'
import { FailureQuota } from '../../lib/accounts/failure-quota.ts'

t.test('at most a hundred failures are recorded per quarter of an hour', async t => {
  const quota = new FailureQuota()
  const noted = (count: number, nowMs: number): number =>
    Array.from({ length: count }, () => quota.take(nowMs)).filter(Boolean).length
  t.equal(noted(60, 1000), 60)
  t.equal(noted(1000, 2000), 40)
  t.equal(noted(10, 1000 + 15 * 60_000 - 1), 0)
  t.equal(noted(1000, 1000 + 15 * 60_000), 100)
})
