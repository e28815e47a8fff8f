/**
 * Reads lines of earlier versions, which wrote the values of a row as a list without names: a
 * journal may be left from before an upgrade.
 */

import { compactColumns, type UsageColumn } from '../stores/usage-columns.ts'
import type { UsageRow } from '../stores/tables.ts'

/** The columns of a call whose request had just been sent. */
const openColumns = [
  'id',
  'call_id',
  'at_ms',
  'key_id',
  'endpoint',
  'requested_model',
  'model',
  'provider',
  'streamed',
  'own_provider_key',
  'prompt_tokens',
  'cost_nano_usd'
] as const satisfies readonly UsageColumn[]

export function readListedValues (values: readonly unknown[]): Partial<UsageRow> {
  const columns = values.length > openColumns.length ? compactColumns : openColumns
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
}
