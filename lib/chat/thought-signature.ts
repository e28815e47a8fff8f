import { objectOf } from '../json/type-guards.ts'
import type { ToolCall } from '../../schemas/messages.ts'

/**
 * Returns the signature of the thoughts before a tool call, if any.
 *
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export function thoughtSignature (call: ToolCall): string | undefined {
  const { google } = 'extra_content' in call ? objectOf(call.extra_content) ?? {} : {}
  const { thought_signature: signature } = objectOf(google) ?? {}
  return typeof signature === 'string' && signature !== '' ? signature : undefined
}
