/**
 * Reads lines of earlier versions, which wrote the values of a row as a list without names: a
 * journal may be left from before an upgrade.
 */

import type { UsageColumn } from '../stores/usage-columns.ts'
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

/** The columns of a call that had ended. The first versions lacked the last one. */
const endedColumns = [
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

export function readListedValues (values: readonly unknown[]): Partial<UsageRow> {
  const columns = values.length > openColumns.length ? endedColumns : openColumns
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
}
