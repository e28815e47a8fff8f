/** The columns of usage rows. */

import { unitColumns, type UnitColumn } from '../../schemas/billed-units.ts'
import type { UsageRow } from './tables.ts'

export type UsageColumn = keyof UsageRow

/** Columns in export order, which CSV readers may rely on; units not listed here follow at the end. */
const columns = {
  id: 'text',
  call_id: 'text',
  at_ms: 'bigint',
  key_id: 'text',
  endpoint: 'text',
  requested_model: 'text',
  model: 'text',
  provider: 'text',
  outcome: 'text',
  status: 'bigint',
  error_code: 'text',
  streamed: 'bigint',
  attempts: 'bigint',
  turns: 'bigint',
  prompt_tokens: 'bigint',
  completion_tokens: 'bigint',
  cached_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  estimated: 'bigint',
  pages: 'bigint',
  audio_ms: 'bigint',
  characters: 'bigint',
  images: 'bigint',
  cost_nano_usd: 'bigint',
  own_provider_key: 'bigint',
  duration_ms: 'bigint',
  first_byte_ms: 'bigint',
  cache_write_tokens: 'bigint',
  searches: 'bigint',
  image_size: 'text',
  image_quality: 'text',
  steps: 'text',
  cached: 'bigint',
  findings: 'text',
  end_user: 'text',
  session: 'text',
  tags: 'text',
  metadata: 'text',
  wasted_tokens: 'bigint',
  wasted_nano_usd: 'bigint',
  parties: 'text'
} as const satisfies Readonly<Record<Exclude<UsageColumn, UnitColumn>, 'text' | 'bigint'>> &
  Readonly<Partial<Record<UnitColumn, 'bigint'>>>

// `Object.entries` knows no names
const named = Object.entries(columns) as ReadonlyArray<[UsageColumn, 'text' | 'bigint']>

export const usageColumns: readonly UsageColumn[] = [
  ...new Set([...named.map(([column]) => column), ...unitColumns])
]

export function isUsageColumn (name: string): name is UsageColumn {
  return usageColumns.some(column => column === name)
}

/** Text columns; the others are integers. */
export const textColumns: ReadonlySet<UsageColumn> = new Set(
  named.flatMap(([column, type]) => (type === 'text' ? column : []))
)

/** The row of a call about which nothing is known. */
export const emptyRow = {
  ...Object.fromEntries(usageColumns.map(column => [column, null])),
  outcome: 'interrupted',
  streamed: 0,
  attempts: 1,
  estimated: 1,
  own_provider_key: 0,
  duration_ms: 0
} as Omit<UsageRow, 'id' | 'call_id' | 'at_ms' | 'key_id' | 'endpoint'> // all other columns are nullable
