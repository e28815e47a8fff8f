import t from 'tap'
import { readBifrostBudget } from '../../lib/import/bifrost-budgets.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const nowMs = Date.parse('2026-03-14T10:00:00Z')
const read = (row: JsonObject, isAligned = false) => readBifrostBudget(row, { path: 'b', isAligned, nowMs })

t.test('calendar periods are kept', async t => {
  const periods = ['1h', '1d', '1w', '1M'].map(duration =>
    read({ max_limit: 5, reset_duration: duration, current_usage: 2 }, true)
  )
  t.match(
    periods,
    ['hour', 'day', 'week', 'month'].map(per => ({
      verdict: 'exact',
      budget: { usd: 5, per, unpriced: 'allow' },
      spent: { nanoUsd: 2e9 }
    }))
  )
  t.match(read({ max_limit: 5, reset_duration: '1Y' }, true), {
    verdict: 'approximate',
    budget: { every: '365d' },
    note: /not a calendar period/
  })
})

t.test('other periods continue from the start of the last one', async t => {
  t.match(
    read({ max_limit: 5, reset_duration: '1M', last_reset: '2026-03-01T12:00:00.5Z', current_usage: 3.5 }),
    {
      verdict: 'exact',
      budget: { every: '30d', from: '2026-03-01T12:00:00Z' },
      spent: { fromMs: Date.parse('2026-03-01T12:00:00Z'), nanoUsd: 3_500_000_000 }
    }
  )
  t.match(
    read({ max_limit: 5, reset_duration: '1d', last_reset: '2026-03-01T12:00:00Z', current_usage: 3 }),
    { spent: { fromMs: Date.parse('2026-03-13T12:00:00Z'), nanoUsd: 0 } },
    'that period is over'
  )
  t.match(read({ max_limit: 5, reset_duration: '2w' }), {
    verdict: 'approximate',
    budget: { every: '14d', from: '2024-01-01T00:00:00Z' }
  })
})

t.test('a budget of 0 refuses everything, and an unreadable one is ignored', async t => {
  t.match(read({ max_limit: 0, reset_duration: '1d' }), { amount: 0, note: /nothing may be spent/ })
  t.same(
    [
      read({ max_limit: 5, reset_duration: 'monthly' }),
      read({ reset_duration: '1d' }),
      read({ max_limit: 5, reset_duration: '9999Y' })
    ],
    [undefined, undefined, undefined]
  )
})
