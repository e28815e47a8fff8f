/** Stores most usage rows as lists of values without the empty columns: a third of the size. */

import { emptyRow, usageColumns, type UsageColumn } from './usage-columns.ts'
import type { UsageRow } from './tables.ts'

/**
 * The columns of a compact row, in the order of its values. They are part of the journal format: rows with
 * other columns are stored as objects. Lists of earlier versions lack the last one.
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

/** The minimum length of a list. */
export const minValues = 21

type CompactColumn = typeof compactColumns[number]

/** The other columns, which are empty in most rows. */
const emptyColumns = usageColumns.filter(
  column => !(compactColumns as readonly UsageColumn[]).includes(column)
)

/** Returns whether a row has no values in other columns. Rows of earlier versions lack later columns. */
export function isCompact (row: UsageRow): boolean {
  return emptyColumns.every(column => row[column] === null)
}

/** Prints the values of a row as a JSON list; `undefined` for a row with values in other columns. */
export function printCompact (row: UsageRow): string | undefined {
  return isCompact(row) ? JSON.stringify(compactColumns.map(column => row[column])) : undefined
}

/** Returns the row for values printed by `printCompact`. */
export function rowOfValues (values: readonly unknown[]): UsageRow {
  // in the order printed above
  const fields = Object.fromEntries(
    compactColumns.map((column, index) => [column, values[index] ?? null])
  ) as Pick<UsageRow, CompactColumn>
  return { ...emptyRow, ...fields }
}
