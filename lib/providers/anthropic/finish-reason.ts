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

/** Maps a stop reason; unknown and missing reasons become `stop`. */
export function finishReasonOf (stopReason: unknown): FinishReason {
  return reasons.get(stopReason) ?? 'stop'
}
