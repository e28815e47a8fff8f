import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { databasePath } from '../../lib/stores/sqlite/database-file.ts'
import type { SqliteDatabase } from '../../lib/stores/database.ts'
import { migrations } from '../../lib/stores/migrations.ts'
import { migrate } from '../../lib/stores/sqlite/migrate.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { usedBetween } from '../../lib/usage/spending.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Test } from 'tap'

async function open (t: Test, directory: string): Promise<SqliteDatabase> {
  const database = await openDatabase(directory)
  t.teardown(database.close)
  return database
}

/** Reads the store with another SQLite, as a viewer or a backup does, and counts its calls. */
function countByPython (path: string): string {
  const program =
    'import sqlite3, sys\nfile = sqlite3.connect(sys.argv[1])\nprint(file.execute("select count(*) from usage").fetchone()[0])\nfile.close()'
  return execFileSync('python3', ['-c', program, path], { encoding: 'utf8' })
}

const noPython = spawnSync('python3', ['-c', 'import sqlite3']).status !== 0 && 'no Python with SQLite'

async function countOf ({ query }: SqliteDatabase): Promise<number> {
  return (await query.selectFrom('usage').select('id').execute()).length
}

t.test(
  'another program that opens and closes the store leaves its write-ahead log alone',
  { skip: noPython },
  async t => {
    const directory = t.testdir()
    const first = await open(t, directory)
    const second = await open(t, directory)
    insertUsage(second, [usageRowOf(1)])
    t.equal(countByPython(first.path), '1\n')
    t.ok(existsSync(`${first.path}-wal`), 'the log is still the one in use')
    insertUsage(second, [usageRowOf(2)])
    t.equal(countByPython(first.path), '2\n')
    t.equal(await countOf(first), 2)
  }
)

t.test(
  'opening an existing store does not open its file outside SQLite',
  { skip: process.platform !== 'linux' && 'no /proc/locks' },
  async t => {
    const directory = t.testdir()
    const locks = (): number => {
      const { ino } = statSync(databasePath(directory))
      return readFileSync('/proc/locks', 'utf8')
        .split('\n')
        .filter(line => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).length
    }
    await open(t, directory)
    const before = locks()
    t.ok(before > 0)
    await open(t, directory)
    t.equal(locks(), before)
  }
)

t.test('a clean close leaves one complete file', async t => {
  const directory = t.testdir()
  const [first, second] = [
    await openDatabase(directory),
    await openDatabase(directory, { busyTimeoutMs: 0 })
  ]
  insertUsage(
    second,
    Array.from({ length: 300 }, (_, number) => usageRowOf(number))
  )
  await second.close()
  await first.close()
  const copy = t.testdir({ other: { 'headgate.db': readFileSync(first.path) } })
  t.equal(await countOf(await open(t, join(copy, 'other'))), 300)
})

t.test('the write-ahead log gives back the room that a long reading has made it take', async t => {
  const directory = t.testdir()
  const [database, reader] = [await open(t, directory), await open(t, directory)]
  const logBytes = (): number => statSync(`${database.path}-wal`).size
  const write = (count: number): void => database.write(prepare => {
    const insert = prepare('insert into written values (zeroblob(1048576))')
    for (let number = 0; number < count; number++) insert.run()
  })
  database.write(prepare => prepare('create table written (bytes blob)').run())
  await reader.query.transaction().execute(async transaction => {
    await transaction.selectFrom('usage').select('id').execute()
    for (let number = 0; number < 10; number++) write(10)
  })
  t.ok(logBytes() > 100 * 1024 * 1024)
  write(1) // copies the log into the store
  write(1) // begins it anew
  t.ok(logBytes() <= 64 * 1024 * 1024)
})

t.test('a path that refers to another file, or none, is detected', async t => {
  const directory = t.testdir()
  const database = await open(t, directory)
  t.ok(database.storeFileIntact())
  renameSync(database.path, `${database.path}.old`)
  t.notOk(database.storeFileIntact(), 'none')
  writeFileSync(database.path, '')
  t.notOk(database.storeFileIntact(), 'another')
  rmSync(database.path)
  renameSync(`${database.path}.old`, database.path)
  t.ok(database.storeFileIntact(), 'back again')
})

t.test('deleted text is in none of the files after a close', async t => {
  const directory = t.testdir()
  const database = await openDatabase(directory)
  const canary = 'canary '.repeat(2000)
  await database.query
    .insertInto('deferred')
    .values({
      id: 'x',
      key_id: 'key-1',
      state: 'queued',
      lease_until_ms: 0,
      task: canary,
      expires_at_ms: 1,
      size_bytes: 1,
      attempts: 0
    })
    .execute()
  await database.query.deleteFrom('deferred').execute()
  await database.close()
  for (const name of readdirSync(directory)) {
    t.notMatch(readFileSync(join(directory, name), 'latin1'), /canary/, name)
  }
})

t.test('a copy made during writes is complete and readable by its owner only', async t => {
  const directory = t.testdir()
  const database = await open(t, directory)
  insertUsage(database, [usageRowOf(1), usageRowOf(2)])
  const target = join(t.testdir(), 'copy', 'headgate.db')
  t.throws(() => database.copyTo(target), 'there is no such directory')
  const copy = join(dirname(dirname(target)), 'headgate.db')
  database.copyTo(copy)
  insertUsage(database, [usageRowOf(3)])
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.equal(await countOf(await open(t, dirname(copy))), 2)
  t.throws(() => database.copyTo(copy), /exist/, 'a file that is there stays')
})

t.test('writes of one transaction succeed or fail together', async t => {
  const database = await open(t, t.testdir())
  t.throws(() =>
    insertUsage(database, [usageRowOf(1), usageRowOf(2, { key_id: null as unknown as string })])
  )
  t.equal(await countOf(database), 0)
  insertUsage(database, [usageRowOf(1)])
  t.equal(await countOf(database), 1, 'and the next one goes on')
})

t.test('a row written twice is stored and counted once', async t => {
  const database = await open(t, t.testdir())
  insertUsage(database, [
    usageRowOf(1),
    usageRowOf(2, { cost_nano_usd: null }),
    usageRowOf(3, { key_id: 'key-2' })
  ])
  insertUsage(database, [usageRowOf(1), usageRowOf(4)])
  t.equal(await countOf(database), 4)
  t.equal(await usedBetween(database.query, 'nanoUsd', 'key-1', 0, Date.now()), 20)
})

t.test('spending before a migration is known after it', async t => {
  const directory = t.testdir({ 'headgate.db': '' })
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const old = new DatabaseSync(databasePath(directory))
  migrate(
    old,
    migrations.filter(({ number }) => number <= 5)
  )
  old.exec(`insert into usage (id, call_id, at_ms, key_id, endpoint, outcome, streamed, attempts, estimated, cost_nano_usd, own_provider_key, duration_ms)
    values ('a', 'c', 86400005, 'key-1', 'chat', 'ok', 0, 1, 0, 7, 0, 1), ('b', 'c', 86400006, 'key-1', 'chat', 'ok', 0, 1, 0, null, 0, 1);
    insert into pruned_usage values ('key-1', 86400000, 100), ('key-1', 0, 1000)`)
  old.close()
  const database = await open(t, directory)
  t.equal(await countOf(database), 2)
  t.equal(await usedBetween(database.query, 'nanoUsd', 'key-1', 86_400_000, 172_800_000), 107)
  t.equal(await usedBetween(database.query, 'nanoUsd', 'key-1', 0, 172_800_000), 1107)
})
