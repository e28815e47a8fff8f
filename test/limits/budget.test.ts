import t from 'tap'
import { periodOf } from '../../lib/limits/budget.ts'

t.test('days and months are those of UTC', async t => {
  const nowMs = Date.UTC(2024, 1, 29, 23, 59)
  t.same(periodOf('day', nowMs), { per: 'day', fromMs: Date.UTC(2024, 1, 29), endMs: Date.UTC(2024, 2, 1) })
  t.same(periodOf('month', nowMs), { per: 'month', fromMs: Date.UTC(2024, 1, 1), endMs: Date.UTC(2024, 2, 1) })
  t.same(periodOf('month', Date.UTC(2025, 11, 31)), { per: 'month', fromMs: Date.UTC(2025, 11, 1), endMs: Date.UTC(2026, 0, 1) })
  t.same(periodOf('total', nowMs), { per: 'total', fromMs: 0, endMs: Infinity })
})
