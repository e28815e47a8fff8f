import { sql } from 'kysely'
import { unitColumns } from '../../schemas/billed-units.ts'
import { textColumns, usageColumns } from '../../lib/stores/usage-columns.ts'
import { nameRollupKey } from '../../lib/stores/name-rollups.ts'
import { rollupDurations, rollupKey, rollupSums } from '../../lib/stores/usage-rollups.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Database } from '../../lib/stores/database.ts'

async function columnsOf ({ query }: Database, table: string): Promise<Array<[name: string, type: string]>> {
  const { columns } = (await query.introspection.getTables()).find(({ name }) => name === table) ?? {
    columns: []
  }
  return columns.map(({ name, dataType }) => [name, dataType.toLowerCase().replace('int8', 'bigint')])
}

storeTest(
  'records and sums have a column for each billed unit, and no unknown ones',
  async (t, open) => {
    const store = await open()
    const byName = <T extends readonly [string, ...unknown[]]>(columns: readonly T[]): T[] =>
      columns.toSorted(([a], [b]) => (a < b ? -1 : 1))
    t.same(
      byName(await columnsOf(store, 'usage')),
      byName(usageColumns.map(column => [column, textColumns.has(column) ? 'text' : 'bigint']))
    )
    for (const [table, key] of [['usage_rollups', rollupKey], ['name_rollups', nameRollupKey]] as const) {
      const sums = [...key, ...rollupSums, ...Object.keys(rollupDurations)]
      t.same((await columnsOf(store, table)).map(([name]) => name).toSorted(), sums.toSorted(), table)
    }
  }
)

storeTest('an amount of each unit is written, added up and read back', async (t, open) => {
  const store = await open()
  const amounts = Object.fromEntries(unitColumns.map((column, index) => [column, index + 2]))
  await store.insertUsage([usageRowOf(1, amounts), usageRowOf(2, amounts)])
  const row = await store.query
    .selectFrom('usage')
    .select([...unitColumns])
    .limit(1)
    .executeTakeFirstOrThrow()
  t.same({ ...row }, amounts)
  const sums = await store.query
    .selectFrom('usage_rollups')
    .where('span_ms', '=', 86_400_000)
    .select(unitColumns.map(column => sql<number>`sum(${sql.ref(column)})`.as(column)))
    .executeTakeFirstOrThrow()
  t.same(
    { ...sums },
    Object.fromEntries(Object.entries(amounts).map(([column, amount]) => [column, 2 * amount]))
  )
})
