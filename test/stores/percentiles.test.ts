import t from 'tap'
import { sql } from 'kysely'
import { bucketOf, bucketSql, Durations, negatedCountsSql } from '../../lib/stores/percentiles.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { storeTest } from '../support/stores.ts'

t.test('percentiles of buckets are within 10 % of those of the values', async t => {
  const { query, close } = await openSqlite(t.testdir())
  t.teardown(close)
  for (const values of [
    [0],
    [1, 2, 3],
    Array.from({ length: 999 }, (_, index) => index * 7),
    Array.from({ length: 500 }, (_, index) => Math.round(1.03 ** index))
  ]) {
    const durations = new Durations()
    for (const value of values) {
      const { rows } = await sql<{
        bucket: number
      }>`select ${sql.raw(bucketSql('value'))} as bucket from (select ${value} as value) as v`.execute(query)
      const bucket = bucketOf(value)
      if (rows[0]?.bucket !== bucket) {
        t.equal(rows[0]?.bucket, bucket, `${value} is in the same bucket for SQL`)
      }
      durations.add(bucket, 1)
    }
    const found = durations.percentiles()
    const sorted = values.toSorted((a, b) => a - b)
    for (const [name, share] of [['p50', 0.5], ['p95', 0.95], ['p99', 0.99]] as const) {
      const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0
      t.ok(
        Math.abs((found?.[name] ?? NaN) - exact) <= Math.max(1, exact / 10),
        `${name} of ${values.length}: ${found?.[name]} for ${exact}`
      )
    }
  }
  t.equal(new Durations().percentiles(), null)
})

t.test('counts add up', async t => {
  const [one, other] = [new Durations(), new Durations()]
  one.add(24, 1)
  other.add(50, 3)
  one.addAll(other)
  t.match(one.percentiles(), { p50: 155, p99: 155 })
  t.equal(one.text(), '24:1,50:3')
  const read = new Durations()
  read.addText('')
  read.addText([one.text(), '230:40'].join(','))
  t.equal(read.text(), '24:1,50:3,230:40')
  t.equal(new Durations().text(), null)
})

storeTest('subtracted counts leave no trace', async (t, open) => {
  const { query } = await open()
  for (const text of ['80:10', '80:10,113:10,80:-10', '9:-4']) {
    const { rows: [row] } = await sql<{ taken: string }>`
      select ${sql.raw(negatedCountsSql('text'))} as taken from (select cast(${text} as text) as text) as counts`
      .execute(query)
    t.equal(new Durations(`${text},${row?.taken}`).text(), null, text)
  }
})
