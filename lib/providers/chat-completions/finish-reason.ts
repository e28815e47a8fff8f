/** The provider's finish reasons, as ours. */

import { GatewayError } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'

const reasons: ReadonlyMap<string, FinishReason> = new Map(Object.entries({
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  complete: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_length: 'length',
  model_length: 'length',
  max_context: 'length',
  model_context_window_exceeded: 'length',
  time_limit: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'function_call',
  content_filter: 'content_filter',
  'content-filter': 'content_filter',
  safety: 'content_filter',
  recitation: 'content_filter'
}))

/** Finish reasons of some servers for answers that failed half-way. */
const failures = new Set(['abort', 'error', 'cancel', 'insufficient_system_resource'])

/**
 * Maps a finish reason to one of our four; `undefined` while the choice goes on (absent, null or `""`).
 * Unknown reasons become `stop`.
 *
 * @throws GatewayError `upstream_stream_interrupted` for reasons that mean failure
 */
export function finishReasonOf (value: unknown): FinishReason | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const reason = reasons.get(value) ?? reasons.get(value.toLowerCase())
  if (reason !== undefined) return reason
  if (failures.has(value.toLowerCase())) {
    throw new GatewayError('upstream_stream_interrupted', { cause: `the finish_reason is ${value}` })
  }
  return 'stop'
}

/** Finish reasons for a full context window. */
const fullContext: ReadonlySet<unknown> = new Set([
  'model_length',
  'max_context',
  'model_context_window_exceeded'
])

/** Returns true if the reason is a full context window, not a limit of the request. */
export function isFullContextReason (value: unknown): boolean {
  return fullContext.has(value)
}
