import t from 'tap'
import { budgetText, limitsWithoutBudget, nanoUsdOf, usageLimits } from '../../lib/core/key.ts'

t.test('the limits on what answers come to are tokens and budget, with how that is kept; absent ones stay absent', async t => {
  const budget = { usd: 5, per: 'day' } as const
  t.strictSame(usageLimits({ requestsPerMinute: 1, tokensPerMinute: 2, concurrentCalls: 3, budget }), { tokensPerMinute: 2, budget })
  t.strictSame(usageLimits({ budget, strict: false }), { budget, strict: false })
  t.strictSame(usageLimits({ requestsPerMinute: 1 }), {})
})

t.test('the limits of a call that costs nothing are all but the budget; absent ones stay absent', async t => {
  t.strictSame(limitsWithoutBudget({ requestsPerMinute: 1, tokensPerMinute: 2, concurrentCalls: 3, budget: { usd: 5, per: 'day' } }), { requestsPerMinute: 1, tokensPerMinute: 2, concurrentCalls: 3 })
  t.strictSame(limitsWithoutBudget({ budget: { usd: 5, per: 'day' }, strict: false }), {})
})

t.test('a budget is counted in billionths of a dollar', async t => {
  t.equal(nanoUsdOf({ usd: 0.1 + 0.2, per: 'day' }), 300_000_000)
  t.equal(nanoUsdOf({ usd: 20, per: 'day' }), 20_000_000_000)
})

t.test('a budget is printed as people say it', async t => {
  t.equal(budgetText({ usd: 20, per: 'month' }), '$20 a month')
  t.equal(budgetText({ usd: 0.5, per: 'total' }), '$0.5 in total')
})
