import type { UsageRow } from './tables.ts'

/** Columns of a usage row, in the order in which they are written. */
export const usageColumns = [
  'id', 'call_id', 'at_ms', 'key_id', 'endpoint', 'requested_model', 'model', 'provider', 'outcome', 'status', 'error_code',
  'streamed', 'attempts', 'turns', 'prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'estimated',
  'pages', 'audio_ms', 'characters', 'images', 'cost_nano_usd', 'own_provider_key', 'duration_ms', 'first_byte_ms',
  'cache_write_tokens', 'searches', 'image_size', 'image_quality', 'steps'
] as const satisfies ReadonlyArray<keyof UsageRow>

/** The columns that are listed; fails to compile when one is missing. */
type Complete<Listed, Missing extends never> = [Missing] extends [never] ? Listed : never

export type UsageColumn = Complete<typeof usageColumns[number], Exclude<keyof UsageRow, typeof usageColumns[number]>>

/** Columns of text; the others hold integers. */
export const textColumns: ReadonlySet<UsageColumn> = new Set([
  'id', 'call_id', 'key_id', 'endpoint', 'requested_model', 'model', 'provider', 'outcome', 'error_code', 'image_size', 'image_quality', 'steps'
])
