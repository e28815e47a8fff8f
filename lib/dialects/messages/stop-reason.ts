import type { FinishReason } from '../../core/events.ts'
import type {
  MessagesAnswer,
  MessagesStopDetails,
  MessagesStopReason
} from '../../../schemas/messages-answer.ts'

/** The facts at the end of an answer. */
export interface AnswerEnd {
  readonly reason: FinishReason | undefined
  readonly stopSequence: string | undefined
  /** True when the provider says that the answer was cut because the context of the model was full. */
  readonly isContextFull: boolean
  /** The model's words for a refusal, or the empty text. */
  readonly refusal: string
  /** True when the answer holds tool calls: some providers say `stop` after them. */
  readonly callsTools: boolean
}

/** The fields of a message that say how it ended. */
export type WireEnd = Pick<MessagesAnswer, 'stop_reason' | 'stop_sequence' | 'stop_details'>

/** Returns the end of an answer as this dialect words it. */
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
