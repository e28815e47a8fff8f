import { property } from '../../json/type-guards.ts'
import type { FinishReason } from '../../core/events.ts'
import type { WireResponse } from './wire.ts'

/**
 * Maps the end of a response. Responses with tool calls are `completed` too.
 *
 * @param calls what it called: tools, the deprecated function, or nothing
 */
export function finishReasonOf (
  { status, incomplete_details: details }: WireResponse,
  calls: 'tools' | 'legacy' | 'none'
): FinishReason {
  if (status === 'incomplete') {
    return property(details, 'reason') === 'content_filter' ? 'content_filter' : 'length'
  }
  if (calls === 'none') return 'stop'
  return calls === 'legacy' ? 'function_call' : 'tool_calls'
}
