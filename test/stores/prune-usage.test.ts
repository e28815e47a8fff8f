import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { dayMs } from '../../lib/core/day.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { pruneUsage } from '../../lib/stores/sqlite/prune-usage.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { hourMs } from '../../lib/stores/usage-rollups.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'
import type { RootOperationNode, ValueNode } from 'kysely'
import type { Test } from 'tap'
import type { SqliteDatabase } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

t.test('rows are kept for a number of days and up to a count; their cost is not forgotten', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const { query } = database
  const nowMs = 100 * dayMs + 5
  const row = (number: number, at_ms: number, key_id = 'a'): UsageRow =>
    usageRowOf(number, { at_ms, key_id, cost_nano_usd: number % 3 === 0 ? null : 1 })
  const at = (number: number): number => Math.floor(number / 12) * dayMs + number
  for (let number = 0; number < 1200; number += 40) {
    insertUsage(
      database,
      Array.from({ length: 40 }, (_, more) =>
        row(number + more, at(number + more), more % 2 === 0 ? 'a' : 'b')
      )
    )
  }
  const count = async (): Promise<number> => (await query.selectFrom('usage').selectAll().execute()).length
  const cost = async (key: string): Promise<number> => await usedBetween(query, 'nanoUsd', key, 0, nowMs)
  t.same([await cost('a'), await cost('b')], [400, 400])
  await pruneUsage(query, { keepDays: 40, keepRows: 5000 }, nowMs)
  t.equal(await count(), 480)
  await pruneUsage(query, { keepDays: 40, keepRows: 100 }, nowMs)
  t.equal(await count(), 100)
  await pruneUsage(query, { keepDays: 40, keepRows: 100 }, nowMs)
  t.equal(await count(), 100)
  t.same([await cost('a'), await cost('b')], [400, 400])
  t.equal(await usedBetween(query, 'nanoUsd', 'a', 0, dayMs), 4, 'by day')
})

/** Returns how many ledger rows a query skips. */
function passedRows (node: RootOperationNode): number {
  return node.kind === 'SelectQueryNode' && JSON.stringify(node.from).includes('"usage"')
    ? Number((node.offset?.offset as ValueNode | undefined)?.value ?? 0)
    : 0
}

/** A store with `perHour` rows in each of so many hours. */
async function filled (t: Test, hours: number, perHour: number): Promise<SqliteDatabase> {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  for (let hour = 0; hour < hours; hour++) insertUsage(database, rowsOf(hour, perHour))
  return database
}

function rowsOf (hour: number, count: number, prefix = 'row'): UsageRow[] {
  return Array.from({ length: count }, (_, number) =>
    usageRowOf(number, {
      id: `${prefix} ${number} of ${hour}`,
      at_ms: hour * hourMs + number,
      key_id: `key-${number % 3}`
    })
  )
}

const always = { keepDays: 10_000 }

t.test('finding the surplus rows reads those of two hours only', async t => {
  const database = await filled(t, 60, 50)
  const passed: number[] = []
  const query = database.query.withPlugin({
    transformQuery: ({ node }) => {
      passed.push(passedRows(node))
      return node
    },
    transformResult: async ({ result }) => result
  })
  for (const keepRows of [2519, 2500, 2481, 1200, 49, 1]) {
    passed.length = 0
    await pruneUsage(query, { ...always, keepRows }, 0)
    t.equal((await query.selectFrom('usage').select('id').execute()).length, keepRows)
    t.ok(passed.reduce((sum, rows) => sum + rows) < 100, `${keepRows}: ${passed.join(' ')}`)
    t.ok(passed.length > 2)
  }
})

t.test('rows of the same moment are kept together', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  insertUsage(
    database,
    Array.from({ length: 30 }, (_, number) => usageRowOf(number, { at_ms: Math.floor(number / 10) }))
  )
  await pruneUsage(database.query, { ...always, keepRows: 15 }, 0)
  t.equal((await database.query.selectFrom('usage').select('id').execute()).length, 20)
})

t.test(
  'deleted rows that are still in the sums do not count towards the rows to keep',
  async t => {
    const database = await filled(t, 60, 10)
    const count = async (): Promise<number> =>
      (await database.query.selectFrom('usage').select('id').execute()).length
    await pruneUsage(database.query, { ...always, keepRows: 195 }, 0)
    t.equal(await count(), 195)
    // Journals of hours whose rows are all deleted.
    for (const hour of [3, 12, 28]) insertUsage(database, rowsOf(hour, 30, 'late'))
    for (const keepRows of [600, 400, 330, 310, 300, 285]) {
      await pruneUsage(database.query, { ...always, keepRows }, 0)
      t.equal(await count(), 285, String(keepRows))
    }
    await pruneUsage(database.query, { ...always, keepRows: 190 }, 0)
    t.equal(await count(), 190)
  }
)

storeTest(
  'rollups are kept as long as rows may be, including those of surplus rows',
  async (t, open) => {
    const { query, insertUsage, pruneUsage } = await open()
    await insertUsage(
      Array.from({ length: 100 }, (_, number) => usageRowOf(number, { at_ms: (number * dayMs) / 2 }))
    )
    const spans = async (spanMs: number): Promise<number[]> =>
      (
        await query
          .selectFrom('usage_rollups')
          .select('from_ms')
          .where('span_ms', '=', spanMs)
          .orderBy('from_ms')
          .execute()
      ).map(({ from_ms: fromMs }) => fromMs / dayMs)
    await pruneUsage({ keepDays: 5, keepRows: 1000 }, 50 * dayMs)
    t.same(await spans(dayMs), [45, 46, 47, 48, 49])
    t.same((await spans(hourMs)).length, 10)
    await pruneUsage({ keepDays: 5, keepRows: 4 }, 50 * dayMs)
    t.same(await spans(dayMs), [46, 47, 48, 49])
    t.same(await spans(hourMs), [48, 48.5, 49, 49.5])
  }
)

storeTest('sums by name expire with their days, however many names a day has', async (t, open) => {
  const { query, insertUsage, pruneUsage } = await open()
  await insertUsage(
    Array.from({ length: 20 }, (_, number) =>
      usageRowOf(number, { at_ms: (number < 10 ? 48 : 49) * dayMs, end_user: `user-${number}` })
    )
  )
  await pruneUsage({ keepDays: 5, keepRows: 4 }, 50 * dayMs)
  const names = query.selectFrom('name_rollups').select('name').where('name', '<>', '')
  t.equal((await names.execute()).length, 20)
})
