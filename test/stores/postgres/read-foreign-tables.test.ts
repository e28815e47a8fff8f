import t from 'tap'
import { Secret } from '../../../lib/core/secret.ts'
import { readForeignTables } from '../../../lib/stores/postgres/read-foreign-tables.ts'
import { noPostgres, postgresPlace } from '../../support/stores.ts'
import type { Test } from 'tap'

const rowsOf = (...tables: readonly string[]) => new Map(tables.map(table => [table, 'rows'] as const))

/** Creates tables in a schema for the test. Returns its address in Prisma's form. */
async function foreign (
  t: Test,
  sql: string
): Promise<{ readonly url: Secret, readonly query: (sql: string) => Promise<unknown[]> }> {
  const {
    store: { url }
  } = await postgresPlace(t)
  const { Client } = await import('pg')
  const client = new Client(url?.reveal())
  await client.connect()
  await client.query(sql)
  const address = new URL(url?.reveal() ?? '')
  const schema = /search_path=(\w+)/.exec(address.searchParams.get('options') ?? '')?.[1] ?? ''
  address.search = `?schema=${schema}`
  t.teardown(async () => await client.end())
  return { url: new Secret(address.href), query: async sql => (await client.query<object>(sql)).rows }
}

t.test(
  'tables are read as JSON, and other tables with rows are named',
  { skip: noPostgres },
  async t => {
    const { url } = await foreign(
      t,
      `
    create table "App_Key" (token text, "limit" bigint, at timestamp(3), tags text[], more jsonb);
    insert into "App_Key" values ('a', 9000000000, '2026-10-14 12:00:00.5', '{x,y}', '{"a":[1]}'), ('b', null, null, '{}', null);
    create table "App_Log" (line text); insert into "App_Log" values ('x');
    create table "App_Empty" (line text); create table "Other" (line text); insert into "Other" values ('x')`)
  t.same(await readForeignTables(url, 'App_', rowsOf('App_Key', 'App_Missing')), {
    rows: new Map([['App_Key', [
      { token: 'a', limit: 9_000_000_000, at: '2026-10-14T12:00:00.5', tags: ['x', 'y'], more: { a: [1] } },
      { token: 'b', limit: null, at: null, tags: [], more: null }
    ]]]),
    others: ['App_Log']
  })
})

t.test(
  'the transaction is read-only, whatever the database does when it is read',
  { skip: noPostgres },
  async t => {
    const { url, query } = await foreign(
      t,
      `
    create table counter (n int); insert into counter values (0);
    create type word as enum ('a'); create table "App_Key" (token word); insert into "App_Key" values ('a');
    create function as_json (word) returns json language sql volatile as 'update counter set n = n + 1 returning to_json(n)';
    create cast (word as json) with function as_json (word)`)
  await t.rejects(readForeignTables(url, 'App_', rowsOf('App_Key')), /read-only transaction/)
  t.same(await query('select n from counter'), [{ n: 0 }])
})

t.test('an unreachable address is reported', async t => {
  await t.rejects(
    readForeignTables(new Secret('postgres://user:secret@127.0.0.1:1/none'), 'App_', new Map()),
    /ECONNREFUSED/
  )
})

t.test(
  'of a table with too many rows only sums are read, without missing columns',
  { skip: noPostgres },
  async t => {
    const { url } = await foreign(
      t,
      `
    create table "App_Day" (date text, "Key" text, tokens bigint, spend float);
    insert into "App_Day" values ('2026-10-01', 'a', 9000000000, 0.25), ('2026-10-01', 'a', 5, 0.5), ('2026-10-02', 'a', 1, 0), ('2026-10-01', null, 2, 1)`
    )
    const { rows, others } = await readForeignTables(
      url,
      'App_',
      new Map([['App_Day', { by: ['date', 'Key', 'model'], sums: ['tokens', 'spend', 'pages'] }]])
    )
    t.same(others, [])
    t.same(rows.get('App_Day'), [
      { date: '2026-10-01', Key: null, tokens: 2, spend: 1 },
      { date: '2026-10-01', Key: 'a', tokens: 9_000_000_005, spend: 0.75 },
      { date: '2026-10-02', Key: 'a', tokens: 1, spend: 0 }
    ])
  }
)
