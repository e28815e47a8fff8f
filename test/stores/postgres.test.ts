import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { dayMs } from '../../lib/core/day.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'
import type { Database, StoreLocation } from '../../lib/stores/database.ts'

const march = Date.UTC(2026, 2, 10)
const month = 31 * dayMs

async function open (t: Test, place: StoreLocation): Promise<Database> {
  const database = await openDatabase(place)
  t.teardown(database.close)
  return database
}

/** Returns the partitions of the usage ledger that hold rows. */
async function filled ({ query }: Database): Promise<string[]> {
  const { sql } = await import('kysely')
  const { rows } = await sql<{
    name: string
  }>`select distinct tableoid::regclass::text as name from usage order by name`.execute(query)
  return rows.map(({ name }) => name)
}

t.test('a store in PostgreSQL', { skip: noPostgres }, async t => {
  await t.test('gateways that start at the same moment create the schema once', async t => {
    const place = await postgresPlace(t)
    const databases = await Promise.all([1, 2, 3].map(async () => await open(t, place)))
    for (const { query } of databases) t.same(await query.selectFrom('keys').selectAll().execute(), [])
  })

  await t.test('the time of each query is measured', async t => {
    const { query, queries } = await open(t, await postgresPlace(t))
    const count = (): number => queries?.().counts.reduce((sum, count) => sum + count, 0) ?? 0
    const [before, sum] = [count(), queries?.().sum ?? 0]
    for (let number = 0; number < 3; number++) await query.selectFrom('keys').selectAll().execute()
    t.equal(count() - before, 3)
    t.ok((queries?.().sum ?? 0) > sum)
  })

  await t.test(
    'a gateway waits for another one that changes the schema, longer than for any query',
    async t => {
      const statementMs = 1000 // the client times out a query a second later
      const place = await postgresPlace(t, { statementMs })
      const { Client } = await import('pg')
      const other = new Client(place.store.url?.reveal())
      await other.connect()
      t.teardown(async () => await other.end())
      await other.query('begin; select pg_advisory_xact_lock(7403651)')
      const opened = open(t, place)
      await other.query(`select pg_sleep(${(statementMs + 1500) / 1000})`)
      await other.query('commit')
      t.same(await (await opened).query.selectFrom('keys').selectAll().execute(), [])
    }
  )

  await t.test('a connection that breaks during use fails only its query', async t => {
    const place = await postgresPlace(t)
    const address = new URL(place.store.url?.reveal() ?? '')
    const proxy = await startStallingProxy(t, Number(address.port === '' ? 5432 : address.port))
    address.host = `127.0.0.1:${proxy.port}`
    const behind = await open(t, { ...place, store: { ...place.store, url: new Secret(address.href) } })
    const other = await open(t, place)
    const { sql } = await import('kysely')
    const broken = sql`select pg_sleep(60)`.execute(behind.query).then(
      () => 'done',
      (error: unknown) => error
    )
    await until(async () => {
      const { rows } =
        await sql`select 1 from pg_stat_activity where query = 'select pg_sleep(60)' and state = 'active'`.execute(
          other.query
        )
      return rows.length > 0
    }, 'the query to run')
    proxy.cut()
    t.match(await broken, { name: 'StoreError' })
    t.same(
      await behind.query.selectFrom('keys').selectAll().execute(),
      [],
      'the next query has another connection'
    )
  })

  await t.test('the loss of an idle connection does not make the server unreachable', async t => {
    const place = await postgresPlace(t, { poolSize: 1 })
    const [database, other] = [await open(t, place), await open(t, place)]
    const { sql } = await import('kysely')
    const { rows: [own] } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.query)
    await sql`select pg_terminate_backend(${own?.pid})`.execute(other.query)
    await until(async () => {
      const { rows } = await sql`select 1 from pg_stat_activity where pid = ${own?.pid}`.execute(other.query)
      return rows.length === 0
    }, 'the connection to end')
    await sleep(200) // until the pool has noticed
    t.ok(database.isReachable())
    t.same(await database.query.selectFrom('keys').selectAll().execute(), [])
  })

  await t.test('rows are in the partition of their month, which gateways create concurrently', async t => {
    const place = await postgresPlace(t)
    const [one, two] = [await open(t, place), await open(t, place)]
    const rows = [0, 1, 2].map(number =>
      usageRowOf(number, { at_ms: march + number * month, cost_nano_usd: 5 })
    )
    t.equal(
      (await Promise.all([one.insertUsage(rows), two.insertUsage(rows)])).reduce(
        (sum, count) => sum + count
      ),
      3
    )
    t.same(await filled(one), ['usage_2026_03', 'usage_2026_04', 'usage_2026_05'])
    t.equal(await usedBetween(one.query, 'nanoUsd', 'key-1', 0, march + 3 * month), 15)
  })

  await t.test(
    'an old month is dropped as a whole, even during writes, and its cost is kept',
    async t => {
      const place = await postgresPlace(t)
      const [one, two] = [await open(t, place), await open(t, place)]
      const rows = [0, 1, 2].map(number => usageRowOf(number, { at_ms: march + number * month }))
      await two.insertUsage(rows)
      await one.pruneUsage({ keepDays: 30, keepRows: 1_000_000 }, march + 2 * month)
      t.same(await filled(one), ['usage_2026_04', 'usage_2026_05'])
      await t.rejects(two.insertUsage([usageRowOf(4, { at_ms: march })]), /no partition/)
      t.equal(
        await two.insertUsage([usageRowOf(4, { at_ms: march })]),
        1,
        'and the next attempt makes the month again'
      )
      t.equal(await usedBetween(one.query, 'nanoUsd', 'key-1', 0, march + 3 * month), 40)
      const { sql } = await import('kysely')
      await sql`analyze usage`.execute(one.query)
      await one.pruneUsage({ keepDays: 3650, keepRows: 1 }, march + 2 * month)
      t.same(await filled(one), ['usage_2026_05'])
    }
  )

  await t.test('text that PostgreSQL cannot store does not block other rows', async t => {
    const database = await open(t, await postgresPlace(t))
    t.equal(await database.insertUsage([usageRowOf(1, { requested_model: 'a\0b\uD800' }), usageRowOf(2)]), 2)
    const rows = await database.query.selectFrom('usage').select('requested_model').orderBy('id').execute()
    t.same(rows, [{ requested_model: 'a\uFFFDb\uFFFD' }, { requested_model: null }])
    t.same(await database.query.selectFrom('responses').select('id').where('id', '=', 'a\0').execute(), [])
  })

  await t.test('inexact sums are an error', async t => {
    const database = await open(t, await postgresPlace(t))
    await database.insertUsage(
      [1, 2].map(number => usageRowOf(number, { cost_nano_usd: Number.MAX_SAFE_INTEGER }))
    )
    await t.rejects(usedBetween(database.query, 'nanoUsd', 'key-1', 0, Date.now()), RangeError)
  })

  await t.test('a query that takes too long ends, and its connection with it', async t => {
    const database = await open(t, await postgresPlace(t, { statementMs: 100, poolSize: 1 }))
    const { sql } = await import('kysely')
    await t.rejects(sql`select pg_sleep(5)`.execute(database.query), {
      name: 'StoreError',
      message: /statement timeout/
    })
    t.notOk(database.isReachable(), 'a store slower than its limit is as good as away')
    await sql`select 1`.execute(database.query)
    t.ok(database.isReachable())
    await t.rejects(sql`select pg_terminate_backend(pg_backend_pid())`.execute(database.query), {
      name: 'StoreError'
    })
    t.notOk(database.isReachable())
    t.same(
      await database.query.selectFrom('keys').selectAll().execute(),
      [],
      'the next query has a connection of its own'
    )
    t.ok(database.isReachable())
  })

  await t.test('a connection that accepts no writes, such as an old one after a failover, is closed', async t => {
    const database = await open(t, await postgresPlace(t, { poolSize: 1 }))
    const { sql } = await import('kysely')
    await sql`set session characteristics as transaction read only`.execute(database.query)
    await t.rejects(database.checkWritable(), { name: 'StoreError', message: /read-only/ })
    t.notOk(database.isReachable(), 'a store that accepts no writes is as good as away')
    await database.checkWritable()
    t.ok(database.isReachable())
  })

  await t.test('writability is checked', async t => {
    const database = await open(t, await postgresPlace(t))
    await database.checkWritable()
    await database.close()
    await t.rejects(database.checkWritable(), { name: 'StoreError' })
  })

  await t.test('the clock is that of the server', async t => {
    const database = await open(t, await postgresPlace(t))
    t.ok(Math.abs(database.now() - Date.now()) < 5000)
  })
})

t.test(
  'an unreachable or invalid PostgreSQL address is reported without its password',
  async t => {
    const place = (url: string): StoreLocation => ({
      server: { dataDir: t.testdirName },
      store: { url: new Secret(url), poolSize: 1, connectMs: 1000, statementMs: 1000, keysStaleMs: 1000 }
    })
    await t.rejects(openDatabase(place('postgres://me:secret@127.0.0.1:1/name')), {
      name: 'StoreError',
      message: 'The store postgres://127.0.0.1:1/name cannot be used: connect ECONNREFUSED 127.0.0.1:1.'
    })
    await t.rejects(openDatabase(place('mysql://me:secret@x/name')), {
      name: 'StoreError',
      message:
        'The store of `store.url` cannot be used: it is not an address such as postgres://user:password@host/name.'
    })
    await t.rejects(openDatabase(place('secret')), { name: 'StoreError', message: /such as postgres/ })
  }
)
