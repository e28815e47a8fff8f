/** Usage rows of most calls as lists of values, without the columns that are empty: a third of the bytes. */

import type { UsageColumn } from './usage-columns.ts'
import type { UsageRow } from './tables.ts'

/** The columns that such a row has, in the order of its values. Lists in journals of earlier versions lack the last: a new column belongs in `empty`, or at the end. */
export const compactColumns = [
  'id', 'call_id', 'at_ms', 'key_id', 'endpoint', 'requested_model', 'model', 'provider', 'outcome', 'status', 'streamed', 'attempts', 'prompt_tokens',
  'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'estimated', 'cost_nano_usd', 'own_provider_key', 'duration_ms', 'first_byte_ms',
  'cache_write_tokens'
] as const satisfies readonly UsageColumn[]

/** The fewest values that such a list has. */
export const minValues = 21

type CompactColumn = typeof compactColumns[number]

/** The other columns, as they are in most rows. */
const empty = {
  error_code: null, turns: null, pages: null, audio_ms: null, characters: null, images: null, searches: null, image_size: null, image_quality: null,
  steps: null
} as const satisfies Omit<UsageRow, CompactColumn>

/** Returns whether a row has no other values; one of an earlier version lacks later columns. Written out: to read properties by names in variables takes four times as long. */
export function isCompact (row: UsageRow): boolean {
  return row.error_code === null && row.turns === null && row.pages === null && row.audio_ms === null && row.characters === null && row.images === null &&
    row.searches === null && row.image_size === null && row.image_quality === null && row.steps === null
}

/** Prints the values of a row as a JSON list; `undefined` for a row that has others. */
export function printCompact (row: UsageRow): string | undefined {
  return isCompact(row) ? JSON.stringify(compactColumns.map(column => row[column])) : undefined
}

/** Returns the row of values that `printCompact` printed. */
export function rowOfValues (values: readonly unknown[]): UsageRow {
  const known = Object.fromEntries(compactColumns.map((column, place) => [column, values[place] ?? null])) as Pick<UsageRow, CompactColumn> // printed above
  return { ...known, ...empty }
}
