import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { dayMs } from '../../lib/usage/day.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { pruneUsage } from '../../lib/stores/sqlite/prune-usage.ts'
import { spendingOf } from '../../lib/usage/spending.ts'
import { hourMs } from '../../lib/stores/usage-rollups.ts'
import { storeTest } from '../support/stores.ts'
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

storeTest('rollups are kept as long as rows may be, also those of rows that were too many', async (t, open) => {
  const { query, insertUsage, pruneUsage } = await open()
  await insertUsage(Array.from({ length: 100 }, (_, number) => usageRowOf(number, { at_ms: number * dayMs / 2 })))
  const spans = async (spanMs: number): Promise<number[]> => (
    await query.selectFrom('usage_rollups').select('from_ms').where('span_ms', '=', spanMs).orderBy('from_ms').execute()
  ).map(({ from_ms: fromMs }) => fromMs / dayMs)
  await pruneUsage({ keepDays: 5, keepRows: 1000 }, 50 * dayMs)
  t.same(await spans(dayMs), [45, 46, 47, 48, 49])
  t.same((await spans(hourMs)).length, 10)
  await pruneUsage({ keepDays: 5, keepRows: 4 }, 50 * dayMs)
  t.same(await spans(dayMs), [46, 47, 48, 49])
  t.same(await spans(hourMs), [48, 48.5, 49, 49.5])
})
