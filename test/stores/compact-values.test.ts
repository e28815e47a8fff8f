import t from 'tap'
import { minValues, rowOfValues, compactColumns, printCompact } from '../../lib/stores/compact-values.ts'
import { usageColumns } from '../../lib/stores/usage-columns.ts'
import { readLine } from '../../lib/usage/journal.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

function valuesOf (row: UsageRow): readonly unknown[] {
  return JSON.parse(printCompact(row) ?? '[]') as readonly unknown[]
}

t.test('the values of a row are in column order, and restore the row', async t => {
  // Each column has a different value.
  const values = compactColumns.map((column, place) => (column.endsWith('id') ? String(place) : place))
  const numbered = Object.fromEntries(
    compactColumns.map((column, place) => [column, values[place]])
  ) as Partial<UsageRow>
  const row = usageRowOf(1, numbered)
  t.equal(printCompact(row), JSON.stringify(values))
  t.same(rowOfValues(valuesOf(row)), row)
})

t.test('a row with a value in another column is not compacted', async t => {
  for (const column of usageColumns) {
    const isCompact = (compactColumns as readonly string[]).includes(column)
    t.equal(printCompact(usageRowOf(1, { [column]: 7 })) !== undefined, isCompact, column)
  }
})

t.test(
  'values of an earlier version, without cache-write tokens, give a row without them',
  async t => {
    const row = usageRowOf(1)
    t.same(readLine(JSON.stringify(valuesOf(row).slice(0, minValues))), { ...row, cache_write_tokens: null })
  }
)

t.test('values are printed as JSON, whatever callers chose', async t => {
  const row = usageRowOf(1, {
    call_id: 'a"\\\n',
    requested_model: 'caf\u00e9 "\ud83d\ude00" \ud800',
    model: null,
    provider: null,
    first_byte_ms: null,
    cost_nano_usd: 1e15
  })
  t.equal(printCompact(row), JSON.stringify(compactColumns.map(column => row[column])))
  t.same(readLine(printCompact(row) ?? ''), row)
})
