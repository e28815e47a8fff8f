import t from 'tap'
import { openDatabase } from '../../lib/stores/database.ts'
import { dayMs } from '../../lib/usage/day.ts'
import { insertUsage } from '../../lib/usage/insert-usage.ts'
import { spendingOf } from '../../lib/usage/spending.ts'
import { usageRowOf } from '../support/usage.ts'

t.test('spending is that of one key, of all days from the first to that of the last moment', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  insertUsage(database, [0, 1, 2].map(day => usageRowOf(day, { at_ms: day * dayMs + 5, cost_nano_usd: 10 ** day })))
  const spent = async (fromMs: number, untilMs: number, key = 'key-1'): Promise<number> => await spendingOf(database.query, key, fromMs, untilMs)
  t.equal(await spent(0, 3 * dayMs), 111)
  t.equal(await spent(dayMs, dayMs), 10, 'all of a day counts')
  t.equal(await spent(dayMs, 3 * dayMs), 110)
  t.equal(await spent(5 * dayMs, 6 * dayMs), 0)
  t.equal(await spent(0, 3 * dayMs, 'other'), 0)
})
