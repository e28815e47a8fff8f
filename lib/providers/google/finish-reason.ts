/** The provider's finish reasons, as ours. */

import type { FinishReason } from '../../core/events.ts'

const reasons = new Map<string | undefined, FinishReason>([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['LANGUAGE', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['SPII', 'content_filter'],
  ['IMAGE_SAFETY', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_RECITATION', 'content_filter']
])

/**
 * Maps the finish reason of a candidate. Gemini reports `STOP` for tool calls, often in a later message.
 * Unknown reasons, and failures such as a malformed call, become `stop`; a call truncated by the token limit
 * stays `length`.
 *
 * @param calls what the candidate has called so far: tools, the deprecated function, or nothing
 * @see https://ai.google.dev/api/generate-content#FinishReason
 */
export function finishReasonOf (wire: string | undefined, calls: 'tools' | 'legacy' | 'none'): FinishReason {
  const reason = reasons.get(wire) ?? 'stop'
  if (reason !== 'stop' || calls === 'none') return reason
  return calls === 'legacy' ? 'function_call' : 'tool_calls'
}

/** Finish reasons of failed candidates: a malformed call, an unknown tool, too many calls. */
const failures: ReadonlySet<string | undefined> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
  'OTHER'
])

/**
 * Returns true if an answer without output failed for this reason: agents would take an empty answer for the
 * end of their work.
 */
export function isFailureReason (wire: string | undefined): boolean {
  return failures.has(wire)
}
