import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { migrations } from '../../lib/stores/migrations.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { migrate } from '../../lib/stores/sqlite/migrate.ts'
import { usageColumns } from '../../lib/stores/usage-columns.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'

function open (t: Test): InstanceType<typeof DatabaseSync> {
  const file = new DatabaseSync(':memory:')
  t.teardown(() => file.close())
  return file
}

const applied = (file: InstanceType<typeof DatabaseSync>): unknown[] =>
  file
    .prepare('select number from migrations order by number')
    .all()
    .map(row => row['number'])
const schemaOf = (file: InstanceType<typeof DatabaseSync>): unknown[] =>
  file
    .prepare('select type, name, sql from sqlite_master order by type, name')
    .all()
    .map(row => ({ ...row }))

t.test('steps are numbered from 1 without a gap, and a new file has them all', async t => {
  const file = open(t)
  migrate(file)
  t.same(applied(file), migrations.map((_, index) => index + 1))
})

t.test('a file of any earlier version gets the same schema', async t => {
  const fresh = open(t)
  migrate(fresh)
  for (let steps = 1; steps < migrations.length; steps++) {
    const file = open(t)
    migrate(file, migrations.slice(0, steps))
    migrate(file)
    migrate(file)
    t.same(schemaOf(file), schemaOf(fresh), `from step ${steps}`)
    t.same(applied(file), applied(fresh))
  }
})

t.test('a failing step rolls back the whole run', async t => {
  const file = open(t)
  migrate(file, migrations.slice(0, 2))
  const before = schemaOf(file)
  t.throws(
    () => migrate(file, [...migrations.slice(0, 3), { number: 4, sql: 'create nonsense' }]),
    /syntax error/
  )
  t.same(schemaOf(file), before)
  t.same(applied(file), [1, 2])
})

t.test('a step without enough disk space fails with that reason', async t => {
  const file = open(t)
  file.exec('pragma max_page_count = 9')
  const step = {
    number: 1,
    sql: 'create table large (bytes blob); insert into large values (zeroblob(1000000))'
  }
  t.throws(() => migrate(file, [step]), /full/)
  t.same(schemaOf(file), [])
})

t.test('a file of a newer version is left alone', async t => {
  const file = open(t)
  migrate(file)
  t.throws(() => migrate(file, migrations.slice(0, 3)), {
    message: `it was created by a newer version (step ${migrations.length} of 3)`
  })
})

t.test('rows of earlier versions are added up like new rows', async t => {
  const rows = Array.from({ length: 50 }, (_, number) =>
    usageRowOf(number, {
      at_ms: number * 1_000_000,
      model: number % 3 === 0 ? null : 'a/1',
      outcome: number % 5 === 0 ? 'error' : 'ok',
      duration_ms: number * 111,
      first_byte_ms: number % 2 === 0 ? null : 7
    })
  )
  const rollups = (file: InstanceType<typeof DatabaseSync>): unknown[] =>
    file
      .prepare('select * from usage_rollups order by 1, 2, 3, 4, 5, 6')
      .all()
      .map(row => ({ ...row, latencies: sorted(row['latencies']), first_bytes: sorted(row['first_bytes']) }))
  const [old, fresh] = [open(t), open(t)]
  migrate(
    old,
    migrations.filter(({ number }) => number < 15)
  )
  const present = new Set(
    old
      .prepare("select name from pragma_table_info('usage')")
      .all()
      .map(({ name }) => name)
  )
  const columns = usageColumns.filter(column => present.has(column))
  t.ok(columns.length > 30)
  const insert = old.prepare(
    `insert into usage (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
  )
  for (const row of rows) insert.run(...columns.map(column => row[column]))
  const migratedMs = Date.now()
  migrate(old)
  migrate(fresh)
  insertUsage({ write: work => work(sql => fresh.prepare(sql)) }, rows)
  t.ok(rollups(old).length > 10)
  t.same(rollups(old), rollups(fresh))
  const backlog = (file: InstanceType<typeof DatabaseSync>): number[] =>
    file
      .prepare('select at_ms from rollup_backlog')
      .all()
      .map(row => Number(row['at_ms']))
  const hourMs = 3_600_000
  const [untilMs = 0] = backlog(old)
  t.ok(
    untilMs > migratedMs + hourMs - 1001 && untilMs <= Date.now() + hourMs,
    'sums by names come later, of all that the version before writes'
  )
  t.same(backlog(fresh), [])
})

t.test('migrated sums by name get the totals of all names, like new ones', async t => {
  const [old, fresh] = [open(t), open(t)]
  const sums = (file: InstanceType<typeof DatabaseSync>): unknown[] =>
    file
      .prepare('select * from name_rollups order by 1, 2, 3, 4, 5')
      .all()
      .map(row => ({ ...row, latencies: sorted(row['latencies']), first_bytes: sorted(row['first_bytes']) }))
  migrate(fresh)
  insertUsage(
    { write: work => work(sql => fresh.prepare(sql)) },
    Array.from({ length: 50 }, (_, number) =>
      usageRowOf(number, {
        at_ms: number * 5_000_000,
        model: number % 3 === 0 ? null : 'a/1',
        duration_ms: number % 7 * 11,
        first_byte_ms: number % 2 === 0 ? null : 7,
        end_user: number % 4 === 0 ? null : `user-${number % 3}`,
        session: `session-${number}`,
        tags: number % 5 === 0 ? null : '["a","b"]'
      })
    )
  )
  migrate(old, migrations.filter(({ number }) => number < 38))
  const written = fresh.prepare('select * from name_rollups where name <> ? or kind = ?').all('', 'tagged')
  for (const row of written) {
    old
      .prepare(`insert into name_rollups values (${Object.keys(row).map(() => '?').join(', ')})`)
      .run(...Object.values(row))
  }
  t.ok(written.length > 60)
  t.not(sums(old).length, sums(fresh).length)
  migrate(old)
  t.same(sums(old), sums(fresh))
})

function sorted (counts: unknown): unknown {
  return typeof counts === 'string' ? counts.split(',').toSorted() : counts
}
