import type { UsageRow } from './tables.ts'

/** Columns of a usage row, in the order in which they are written. */
export const usageColumns = [
  'id', 'call_id', 'at_ms', 'key_id', 'endpoint', 'requested_model', 'model', 'provider', 'outcome', 'status', 'error_code',
  'streamed', 'attempts', 'turns', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'estimated',
  'pages', 'audio_ms', 'characters', 'images', 'cost_nano_usd', 'own_provider_key', 'duration_ms', 'first_byte_ms',
  'cache_write_tokens', 'searches', 'image_size', 'image_quality', 'steps'
] as const satisfies ReadonlyArray<keyof UsageRow>

export type UsageColumn = typeof usageColumns[number]

/** Columns of text; the others hold integers. */
export const textColumns: ReadonlySet<UsageColumn> = new Set([
  'id', 'call_id', 'key_id', 'endpoint', 'requested_model', 'model', 'provider', 'outcome', 'error_code', 'image_size', 'image_quality', 'steps'
])

/** Fails to compile when a column of the table is missing above. */
export const everyColumn: [Exclude<keyof UsageRow, UsageColumn>] extends [never] ? true : never = true
