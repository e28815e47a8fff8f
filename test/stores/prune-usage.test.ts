import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { dayMs } from '../../lib/usage/day.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { pruneUsage } from '../../lib/stores/sqlite/prune-usage.ts'
import { spendingOf } from '../../lib/usage/spending.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

t.test('rows are kept for so many days and up to a number; what they cost is not forgotten', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const { query } = database
  const nowMs = 100 * dayMs + 5
  const row = (number: number, at_ms: number, key_id = 'a'): UsageRow => usageRowOf(number, { at_ms, key_id, cost_nano_usd: number % 3 === 0 ? null : 1 })
  const at = (number: number): number => Math.floor(number / 12) * dayMs + number
  for (let number = 0; number < 1200; number += 40) {
    insertUsage(database, Array.from({ length: 40 }, (_, more) => row(number + more, at(number + more), more % 2 === 0 ? 'a' : 'b')))
  }
  const count = async (): Promise<number> => (await query.selectFrom('usage').selectAll().execute()).length
  const cost = async (key: string): Promise<number> => await spendingOf(query, key, 0, nowMs)
  t.same([await cost('a'), await cost('b')], [400, 400])
  await pruneUsage(query, { keepDays: 40, keepRows: 5000 }, nowMs)
  t.equal(await count(), 480)
  await pruneUsage(query, { keepDays: 40, keepRows: 100 }, nowMs)
  t.equal(await count(), 100)
  await pruneUsage(query, { keepDays: 40, keepRows: 100 }, nowMs)
  t.equal(await count(), 100)
  t.same([await cost('a'), await cost('b')], [400, 400])
  t.equal(await spendingOf(query, 'a', 0, 5), 4, 'by day')
})
