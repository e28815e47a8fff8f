import type { FinishReason } from '../../core/events.ts'
import type {
  MessagesAnswer,
  MessagesStopDetails,
  MessagesStopReason
} from '../../../schemas/messages-answer.ts'

/** What is known when an answer ends. */
export interface AnswerEnd {
  readonly reason: FinishReason | undefined
  readonly stopSequence: string | undefined
  /** True if the provider reports that the context window was full. */
  readonly isContextFull: boolean
  /** The model's refusal; empty if there is none. */
  readonly refusal: string
  /** True if the answer contains tool calls: some providers report `stop` after them. */
  readonly callsTools: boolean
}

/** The message fields that describe its end. */
export type WireEnd = Pick<MessagesAnswer, 'stop_reason' | 'stop_sequence' | 'stop_details'>

/** Returns the end of an answer in this dialect's format. */
export function wireEnd ({ reason, stopSequence, isContextFull, refusal, callsTools }: AnswerEnd): WireEnd {
  const stop = (stop_reason: MessagesStopReason): WireEnd => ({ stop_reason, stop_sequence: null })
  if (reason === 'content_filter' || (refusal !== '' && reason !== 'length')) {
    const details: MessagesStopDetails = {
      type: 'refusal',
      category: null,
      explanation: refusal === '' ? null : refusal
    }
    return { ...stop('refusal'), stop_details: details }
  }
  if (reason === 'length') return stop(isContextFull ? 'model_context_window_exceeded' : 'max_tokens')
  if (reason === 'tool_calls' || reason === 'function_call' || callsTools) return stop('tool_use')
  return stopSequence === undefined
    ? stop('end_turn')
    : { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
}
