/** Usage rows as a gateway writes them. */

import type { RecordedEstimate } from '../../lib/core/record.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

/** Returns the row of a plain call; `number` makes its id. */
export function usageRowOf (number: number, parts: Partial<UsageRow> = {}): UsageRow {
  return {
    id: `row-${number}`, call_id: 'call', at_ms: 1_763_686_800_000 + number, key_id: 'key-1', endpoint: 'chat', requested_model: null, model: null,
    provider: null, outcome: 'ok', status: 200, error_code: null, streamed: 0, attempts: 1, turns: null, prompt_tokens: 3,
    completion_tokens: 1, cached_tokens: null, reasoning_tokens: null, estimated: 0, pages: null, audio_ms: null,
    characters: null, images: null, image_size: null, image_quality: null, cache_write_tokens: null, searches: null, cost_nano_usd: 10, own_provider_key: 0, duration_ms: 1, first_byte_ms: 1, steps: null, ...parts
  }
}

/** Makes the estimate of a request; what is not given is not known. */
export function recordedEstimate (parts: Partial<RecordedEstimate>): RecordedEstimate {
  return { countPrompt: () => undefined, countAnswer: () => 0, estimateUnits: () => undefined, ...parts }
}
