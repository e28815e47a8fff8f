import type { FinishReason } from '../../core/events.ts'

const reasons: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter']
])

/** Returns the stop reason in our words; reasons yet to be invented, and none at all, are `stop`. */
export function finishReasonOf (stopReason: unknown): FinishReason {
  return reasons.get(stopReason) ?? 'stop'
}
