import t from 'tap'
import { limitFields, refusals, usageLimits } from '../../lib/limits/limit-table.ts'

t.test(
  'the limits on what answers come to are tokens and budget, with how that is kept; absent ones stay absent',
  async t => {
    const budget = { usd: 5, per: 'day' } as const
    t.strictSame(usageLimits({ requestsPerMinute: 1, tokensPerMinute: 2, concurrentCalls: 3, budget }), {
      tokensPerMinute: 2,
      budget
    })
    t.strictSame(usageLimits({ budget, strict: false }), { budget, strict: false })
    t.strictSame(usageLimits({ requestsPerMinute: 1 }), {})
  }
)

t.test('each limit has a name of its own for each place', async t => {
  t.same(limitFields.map(({ name, member }) => [name, member]).slice(0, 3), [
    ['requests_per_minute', 'requestsPerMinute'],
    ['tokens_per_minute', 'tokensPerMinute'],
    ['concurrent_calls', 'concurrentCalls']
  ])
  t.equal(new Set(refusals).size, refusals.length)
})
