import t from 'tap'
import { openDatabase } from '../../../lib/stores/open-database.ts'
import { insertUsage } from '../../../lib/stores/sqlite/insert-usage.ts'
import { recordedRows } from '../../../lib/stores/sqlite/recorded-rows.ts'
import { usageRowOf } from '../../support/usage.ts'

t.test('rows that the ledger already has are found by their time and id', async t => {
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const rows = Array.from({ length: 1000 }, (_, number) => usageRowOf(number, { id: `row "${number}"` }))
  insertUsage(database, rows.filter((_, number) => number % 3 === 0))
  const wanted = rows.map(({ id, at_ms: atMs }) => ({ id, atMs }))
  const found = await recordedRows(database.query, wanted)
  t.same([...found].toSorted(), rows.flatMap(({ id }, number) => (number % 3 === 0 ? [id] : [])).toSorted())
  t.same(
    await recordedRows(
      database.query,
      wanted.map(({ id, atMs }) => ({ id, atMs: atMs + 1 }))
    ),
    new Set(),
    'not by the id alone'
  )
  t.same(await recordedRows(database.query, []), new Set())
  insertUsage(database, [usageRowOf(1, { id: 'open', at_ms: 5, outcome: 'interrupted' })])
  t.same(
    await recordedRows(database.query, [{ id: 'open', atMs: 5 }]),
    new Set(),
    'not what another process took for interrupted: what it costs is not known yet'
  )
})
