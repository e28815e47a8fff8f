import t from 'tap'
import { fewestValues, rowOfValues, usualColumns, usualValues } from '../../lib/stores/usual-values.ts'
import { usageColumns } from '../../lib/stores/usage-columns.ts'
import { readLine } from '../../lib/usage/journal-line.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

t.test('the values of a row are in the order of their columns, and make the row again', async t => {
  // Each column has a value of its own.
  const numbered = Object.fromEntries(usualColumns.map((column, place) => [column, place])) as Partial<UsageRow>
  const row = usageRowOf(1, numbered)
  t.same(usualValues(row), usualColumns.map((_, place) => place))
  t.same(rowOfValues(usualValues(row) ?? []), row)
})

t.test('a row with a value in another column has none', async t => {
  for (const column of usageColumns) {
    const isUsual = (usualColumns as readonly string[]).includes(column)
    t.equal(usualValues(usageRowOf(1, { [column]: 7 })) !== undefined, isUsual, column)
  }
})

t.test('the values of an earlier version, which had no tokens written to a cache, make a row with none', async t => {
  const row = usageRowOf(1)
  t.same(readLine(JSON.stringify(usualValues(row)?.slice(0, fewestValues))), { ...row, cache_write_tokens: null })
})
