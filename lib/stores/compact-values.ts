/** Usage rows of most calls as lists of values, without the columns that are empty: a third of the bytes. */

import { emptyRow, usageColumns, type UsageColumn } from './usage-columns.ts'
import type { UsageRow } from './tables.ts'

/**
 * The columns that such a row has, in the order of its values. This is the format of journals: other columns
 * come in rows that are objects. Lists of earlier versions lack the last one.
 */
export const compactColumns = [
  'id',
  'call_id',
  'at_ms',
  'key_id',
  'endpoint',
  'requested_model',
  'model',
  'provider',
  'outcome',
  'status',
  'streamed',
  'attempts',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'estimated',
  'cost_nano_usd',
  'own_provider_key',
  'duration_ms',
  'first_byte_ms',
  'cache_write_tokens'
] as const satisfies readonly UsageColumn[]

/** The fewest values that such a list has. */
export const minValues = 21

type CompactColumn = typeof compactColumns[number]

/** The other columns, which are empty in most rows. */
const emptyColumns = usageColumns.filter(
  column => !(compactColumns as readonly UsageColumn[]).includes(column)
)

/** Returns whether a row has no other values; one of an earlier version lacks later columns. */
export function isCompact (row: UsageRow): boolean {
  return emptyColumns.every(column => row[column] === null)
}

/** Prints the values of a row as a JSON list; `undefined` for a row that has others. */
export function printCompact (row: UsageRow): string | undefined {
  return isCompact(row) ? JSON.stringify(compactColumns.map(column => row[column])) : undefined
}

/** Returns the row of values that `printCompact` printed. */
export function rowOfValues (values: readonly unknown[]): UsageRow {
  // printed above
  const fields = Object.fromEntries(
    compactColumns.map((column, index) => [column, values[index] ?? null])
  ) as Pick<UsageRow, CompactColumn>
  return { ...emptyRow, ...fields }
}
