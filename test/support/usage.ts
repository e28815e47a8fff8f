/** Usage rows as written by a gateway. */

import type { UsageEstimator } from '../../lib/core/usage-facts.ts'
import { emptyRow } from '../../lib/stores/usage-columns.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

/** Returns the row of a plain call; `number` makes its id. */
export function usageRowOf (number: number, parts: Partial<UsageRow> = {}): UsageRow {
  return {
    ...emptyRow,
    id: `row-${number}`,
    call_id: 'call',
    at_ms: 1_763_686_800_000 + number,
    key_id: 'key-1',
    endpoint: 'chat',
    outcome: 'ok',
    status: 200,
    prompt_tokens: 3,
    completion_tokens: 1,
    estimated: 0,
    cost_nano_usd: 10,
    duration_ms: 1,
    first_byte_ms: 1,
    ...parts
  }
}

/** Makes the estimate of a request; omitted values are unknown. */
export function recordedEstimate (parts: Partial<UsageEstimator>): UsageEstimator {
  return { countPrompt: () => undefined, countAnswer: () => 0, estimateUnits: () => undefined, ...parts }
}
