import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { dayMs } from '../../lib/core/day.ts'
import { isSqlite, type Database } from '../../lib/stores/database.ts'
import { forgetEndUser } from '../../lib/stores/forget-end-user.ts'
import { backfillStep } from '../../lib/stores/backfill-step.ts'
import { withoutNameSums } from '../support/earlier-store.ts'
import { noPostgres, postgresPlace, storeTest } from '../support/stores.ts'
import { sumsOfRows, sumsOfStore } from '../support/summed-rows.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const firstMs = Date.UTC(2025, 9, 30)
const nowMs = firstMs + 4 * dayMs

function rowOf (number: number, more: Partial<UsageRow> = {}): UsageRow {
  return usageRowOf(number, {
    at_ms: firstMs + Math.floor((number * 4 * dayMs) / 3000),
    end_user: number % 3 === 0 ? null : `user-${number % 4}`,
    session: number % 2 === 0 ? null : `session-${number % 50}`,
    tags: number % 5 === 0 ? '["a","b"]' : null,
    cost_nano_usd: number,
    outcome: number % 11 === 0 ? 'interrupted' : 'ok',
    ...more
  })
}

const rows = (from: number, until: number): UsageRow[] =>
  Array.from({ length: until - from }, (_, index) => rowOf(from + index))

/** Checks that reports equal the records, whichever part of them is summed up. */
async function isRight (
  t: Parameters<Parameters<typeof storeTest>[1]>[0],
  database: Database,
  what: string
): Promise<void> {
  const stored = await database.query.selectFrom('usage').selectAll().execute()
  for (const by of ['end_user', 'session', 'tag'] as const) {
    for (const fromMs of [firstMs, firstMs + 2 * dayMs]) {
      const asked = { period: { fromMs, untilMs: nowMs }, origin: {}, by: [by, 'day'] as const, nowMs }
      t.same(
        (await sumsOfStore(database, asked)).sums,
        sumsOfRows(stored, new Map(), asked),
        `${what}, by ${by}`
      )
    }
  }
}

storeTest(
  'records of an earlier version are summed up in steps, each once, during inserts, updates and deletions',
  async (t, open) => {
    const database = { ...await open(), maxSummedRows: 20 }
    await database.insertUsage(rows(0, 300))
    await withoutNameSums(database)
    await isRight(t, database, 'before')
    const broken: Database = {
      ...database,
      transaction: async (moments, work) =>
        await database.transaction(moments, async within => {
          await work(within)
          throw new Error('killed')
        })
    }
    const late = rows(2000, 3000)
    let steps = 0
    for (let last = Infinity; ; steps++) {
      await t.rejects(backfillStep(broken), { message: 'killed' })
      const backlog = await backfillStep(database)
      if (backlog === undefined) break
      t.ok(backlog.at_ms < last, 'from the newest back')
      last = backlog.at_ms
      // Calls after the records of the earlier version, and journals from the time of those records.
      await database.insertUsage(
        late
          .splice(0, 50)
          .map((row, index) => ({
            ...row,
            at_ms: index % 2 === 0 ? row.at_ms : firstMs + (index * dayMs) / 15
          }))
      )
      const open = await database.query
        .selectFrom('usage')
        .selectAll()
        .where('outcome', '=', 'interrupted')
        .limit(9)
        .execute()
      await database.insertUsage(
        open.map(row => ({ ...row, outcome: 'ok', cost_nano_usd: 5, duration_ms: 9 }))
      )
      if (steps % 4 === 1) await forgetEndUser(database, `user-${steps % 3}`)
      await isRight(t, database, `after step ${steps}`)
    }
    t.ok(steps >= 2)
    t.same(await database.query.selectFrom('rollup_backlog').selectAll().execute(), [])
    await isRight(t, database, 'at the end')
    t.equal(await backfillStep(database), undefined)
  }
)

storeTest('a step is short if calls wait for it, and long otherwise', async (t, open) => {
  const database = await open()
  await database.insertUsage(rows(0, 60))
  await withoutNameSums(database)
  const last = await backfillStep(database)
  t.equal(last?.id, isSqlite(database) ? 'row-40' : 'row-0')
})

storeTest(
  "the sums of an earlier version's records equal those written with new ones",
  async (t, open) => {
    const database = await open()
    const sums = async (): Promise<unknown[]> =>
      await database.query
        .selectFrom('name_rollups')
        .select(['kind', 'from_ms', 'project_id', 'name', 'model', 'calls', 'errors', 'cost_nano_usd'])
        .orderBy('kind')
        .orderBy('from_ms')
        .orderBy('name')
        .orderBy('project_id')
        .orderBy('model')
        .execute()
    await database.insertUsage(rows(0, 900))
    const written = await sums()
    t.ok(written.length > 50)
    await withoutNameSums(database)
    t.same(await sums(), [])
    while ((await backfillStep(database)) !== undefined);
    t.same(await sums(), written)
  }
)

t.test(
  'transactions that store records and backlog steps never deadlock',
  { skip: noPostgres },
  async t => {
    const place = await postgresPlace(t)
    const database = await openDatabase(place)
    t.teardown(database.close)
    await database.insertUsage(rows(0, 10))
    await withoutNameSums(database)
    const { Client } = await import('pg')
    const other = new Client(place.store.url?.reveal())
    await other.connect()
    t.teardown(async () => await other.end())
    const waiting = async (count: number): Promise<void> => {
      const query = `
        select distinct pid from pg_locks as waiting join pg_locks as lock using (pid) where not waiting.granted
          and lock.relation in ('rollup_backlog'::regclass, 'counted_names'::regclass)`
      await until(async () => (await other.query(query)).rowCount === count, `${count} to wait`)
    }
    await other.query('begin; select pg_advisory_xact_lock(7403652)') // the lock of the names
    const row = rowOf(1, { id: 'new', at_ms: firstMs + 5 * dayMs, end_user: 'new' })
    const stored = database.transaction([row.at_ms], async within => await within.insertUsage([row]))
    await waiting(1)
    const step = backfillStep(database)
    await waiting(2)
    await other.query('commit')
    await t.resolves(Promise.all([stored, step]))
    const added = await database.query.selectFrom('usage').select('id').where('id', '=', 'new').execute()
    t.equal(added.length, 1)
  }
)

storeTest('a day whose first moment is only partly summed up is read from records', async (t, open) => {
  const database = { ...await open(), maxSummedRows: 20 }
  await database.insertUsage(
    Array.from({ length: 30 }, (_, number) =>
      usageRowOf(number, { id: `row-${number}`, at_ms: firstMs + dayMs, end_user: 'ada' })
    )
  )
  await withoutNameSums(database)
  t.match(await backfillStep(database), { at_ms: firstMs + dayMs }, 'others are left')
  await isRight(t, database, 'in between')
})
