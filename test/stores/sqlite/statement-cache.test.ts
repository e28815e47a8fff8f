import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { StatementCache } from '../../../lib/stores/sqlite/statement-cache.ts'
import type { Test } from 'tap'

function start (t: Test): {
  readonly file: InstanceType<typeof DatabaseSync>
  readonly cache: StatementCache
} {
  const file = new DatabaseSync(':memory:')
  t.teardown(() => { if (file.isOpen) file.close() })
  file.exec('create table t (a, b)')
  return { file, cache: new StatementCache(file) }
}

t.test('a query is prepared once, for each of both interfaces', async t => {
  const { cache } = start(t)
  t.equal(cache.prepare('select 1'), cache.prepare('select 1'))
  t.not(cache.prepare('select 1'), cache.prepare('select 2'))
  const kysely = cache.forKysely()
  t.equal(kysely.prepare('select 1'), kysely.prepare('select 1'))
})

t.test('the cache is limited', async t => {
  const { cache } = start(t)
  const first = cache.prepare('select 0')
  for (let number = 1; number < 500; number++) cache.prepare(`select ${number}`)
  t.equal(cache.prepare('select 0'), first, 'five hundred are')
  cache.prepare('select 500')
  t.not(cache.prepare('select 0'), first)
})

t.test('values are bound as SQLite knows them', async t => {
  const kysely = start(t).cache.forKysely()
  const insert = kysely.prepare('insert into t values (?, ?)')
  t.equal(insert.reader, false)
  for (const value of ['a', 1.5, 2n, null, true, false, Uint8Array.of(7)]) insert.run([value, 0])
  const select = kysely.prepare('select a from t')
  t.equal(select.reader, true)
  t.same(select.all([]).map(row => (row as { a: unknown }).a), ['a', 1.5, 2, null, 1, 0, Uint8Array.of(7)])
  t.equal([...select.iterate([])].length, 7)
})

t.test('values without a column type are refused instead of stored as null', async t => {
  const insert = start(t).cache.forKysely().prepare('insert into t values (?, 0)')
  for (const value of [undefined, {}, [], Number.NaN, Infinity, Symbol('x'), new Date(0)]) {
    t.throws(() => insert.run([value]), {
      name: 'TypeError',
      message: `a value of type ${typeof value} cannot be stored`
    })
  }
})

t.test('closing closes the file', async t => {
  const { file, cache } = start(t)
  cache.forKysely().close()
  t.equal(file.isOpen, false)
})
