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

/** Words some servers use for an answer that failed half-way. */
const failures = new Set(['abort', 'error', 'cancel', 'insufficient_system_resource'])

/**
 * Returns the finish reason in our four words, or `undefined` while the choice goes on: absent, null and
 * `""` all mean that. An unknown word ends the choice as `stop`.
 *
 * @throws GatewayError `upstream_stream_interrupted` for the words that mean failure
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

/** Words for an answer that ended because the context of the model was full. */
const fullContext: ReadonlySet<unknown> = new Set([
  'model_length',
  'max_context',
  'model_context_window_exceeded'
])

/** Returns true for a finish reason that names the context of the model, not a limit of the request. */
export function namesFullContext (value: unknown): boolean {
  return fullContext.has(value)
}
