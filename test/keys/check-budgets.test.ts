import t from 'tap'
import { budgetProblems } from '../../lib/keys/check-budgets.ts'

const paths = (limits: Parameters<typeof budgetProblems>[0]): string[] =>
  budgetProblems(limits).map(({ path }) => path.join('.'))

t.test('valid budgets give no problems', async t => {
  const from = '2030-01-01T00:00:00Z'
  t.same(paths({}), [])
  t.same(paths({ budget: { usd: 1 } }), [])
  t.same(
    paths({
      budgets: [
        { usd: 1, per: 'week', time_zone: 'Europe/Berlin' },
        { usd: 1, every: '30d', from }
      ]
    }),
    []
  )
})

t.test('invalid budgets are reported with their place', async t => {
  const from = '2030-01-01T00:00:00Z'
  t.same(paths({ budget: { usd: 1 }, budgets: [{ usd: 2 }] }), ['budgets'])
  t.same(paths({ budget: { usd: 1, per: 'day', every: '1d', from } }), ['budget.every'])
  t.same(paths({ budgets: [{ usd: 1 }, { usd: 1, every: '1d' }] }), ['budgets.1.every'])
  t.same(paths({ budget: { usd: 1, from } }), ['budget.from'])
  for (const day of ['2030-13-01', '2030-02-31', '2029-02-29', '2030-04-31']) {
    t.same(paths({ budget: { usd: 1, every: '1d', from: `${day}T00:00:00Z` } }), ['budget.from'], day)
  }
  t.same(paths({ budget: { usd: 1, every: '1d', from, time_zone: 'Europe/Berlin' } }), ['budget.time_zone'])
  t.same(paths({ budget: { usd: 1, time_zone: 'Europe/Atlantis' } }), ['budget.time_zone'])
})
