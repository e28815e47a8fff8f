import { join } from 'node:path'
import { copyStore, type CopyProgress } from '../../lib/stores/copy-store.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { dayMs } from '../../lib/core/day.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'
import type { Database } from '../../lib/stores/database.ts'

async function filled (t: Test): Promise<Database> {
  const database = await openDatabase(join(t.testdirName, 'source'))
  t.teardown(database.close)
  const { query } = database
  await query
    .insertInto('keys')
    .values({
      id: 'key-1',
      name: 'website',
      digest: 'x',
      endpoints: '["chat"]',
      models: null,
      created_at_ms: 1,
      expires_at_ms: null,
      revoked_at_ms: 2
    })
    .execute()
  await query.insertInto('secrets').values({ name: 'deferred', value: 'of the source' }).execute()
  await query
    .insertInto('responses')
    .values({
      id: 'resp_1',
      key_id: 'key-1',
      previous_id: null,
      root_id: 'resp_1',
      status: 'completed',
      response: '{"a":"ä"}',
      input: '[]',
      size_bytes: 11,
      created_at_ms: 1,
      expires_at_ms: 2,
      owner: null,
      lease_until_ms: 0
    })
    .execute()
  await query
    .insertInto('response_items')
    .values({ key_id: 'key-1', item_id: 'item', response_id: 'resp_1' })
    .execute()
  await database.insertUsage(
    Array.from({ length: 1200 }, (_, number) =>
      usageRowOf(number, { at_ms: (number * dayMs) / 10, cost_nano_usd: number })
    )
  )
  // its rows were pruned
  await query.updateTable('spending').set({ cost_nano_usd: 5 }).where('day_ms', '=', 0).execute()
  return database
}

storeTest(
  'a store is copied completely, including the sums of deleted rows',
  async (t, open) => {
    const [from, to] = [await filled(t), await open()]
    await to.query.insertInto('secrets').values({ name: 'deferred', value: 'of a first start' }).execute()
    const progress: CopyProgress[] = []
    t.same(await copyStore(from, to, state => progress.push(state)), [])
    t.match(
      progress.filter(({ table, rows, copied }) => table === 'usage' && rows === copied),
      [{ rows: 1200 }]
    )
    for (const table of ['keys', 'secrets', 'responses', 'response_items'] as const) {
      t.same(
        await to.query.selectFrom(table).selectAll().execute(),
        await from.query.selectFrom(table).selectAll().execute(),
        table
      )
    }
    t.same(
      await to.query.selectFrom('usage').selectAll().orderBy('at_ms').execute(),
      await from.query.selectFrom('usage').selectAll().orderBy('at_ms').execute()
    )
    t.equal(await usedBetween(to.query, 'nanoUsd', 'key-1', 0, 86_400_000), 5)
  }
)

storeTest('an interrupted copy resumes where it ended', async (t, open) => {
  const [from, to] = [await filled(t), await open()]
  let interrupted = false
  await t.rejects(copyStore(from, to, ({ table, copied }) => {
    if (table !== 'usage' || copied < 500 || interrupted) return
    interrupted = true
    throw new Error('the network is gone')
  }), /network/)
  const begun: number[] = []
  t.same(await copyStore(from, to, ({ table, copied }) => { if (table === 'usage') begun.push(copied) }), [])
  t.ok((begun[0] ?? 0) >= 499, `${begun[0]} were there`)
  t.same(await copyStore(from, to, () => undefined), [], 'and once more changes nothing')
})

storeTest('differences after the copy are reported', async (t, open) => {
  const [from, to] = [await filled(t), await open()]
  await to.insertUsage([usageRowOf(1, { at_ms: 5, id: 'of the target', cost_nano_usd: 7 })])
  t.match(await copyStore(from, to, () => undefined), [
    { table: 'usage', measure: 'rows', from: 1200, to: 1201 },
    { table: 'usage', measure: 'cost_nano_usd' },
    { measure: 'prompt_tokens' },
    { measure: 'completion_tokens' },
    { measure: 'duration_ms' }
  ])
})
