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
 * Returns why a candidate ended. Gemini has no reason for tool calls: it says `STOP`, often in a later
 * message than the call. Reasons we do not know, and odd ones such as a malformed call, count as
 * an ordinary stop; a call cut off by the token limit stays cut off.
 *
 * @param calls what the candidate called since it began: tools, the deprecated function, nothing
 * @see https://ai.google.dev/api/generate-content#FinishReason
 */
export function finishReasonOf (wire: string | undefined, calls: 'tools' | 'legacy' | 'none'): FinishReason {
  const reason = reasons.get(wire) ?? 'stop'
  if (reason !== 'stop' || calls === 'none') return reason
  return calls === 'legacy' ? 'function_call' : 'tool_calls'
}

/**
 * Reasons of a candidate that went wrong: a call that cannot be read, of a tool that was not offered, one too
 * many.
 */
const failures: ReadonlySet<string | undefined> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
  'OTHER'
])

/**
 * Returns true for a reason that makes an answer without output a failure: agents take an empty one for the
 * end of their work.
 */
export function namesFailure (wire: string | undefined): boolean {
  return failures.has(wire)
}
