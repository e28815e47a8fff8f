/** Token counts as Messages reports them. */

import { usageOfTokens, type Usage } from '../../core/usage.ts'
import type { MessagesUsage } from '../../../schemas/messages-answer.ts'

/** Converts token counts: this dialect counts cache reads and writes separately from the prompt. */
export function messagesUsage ({
  promptTokens,
  completionTokens,
  cachedTokens = 0,
  cacheWriteTokens = 0,
  reasoningTokens
}: Usage): MessagesUsage {
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    ...reasoningTokens !== undefined && { output_tokens_details: { thinking_tokens: reasoningTokens } }
  }
}

/** Returns counts if the provider has not reported any yet. */
export function estimatedUsage (promptTokens: number, completionTokens: number): MessagesUsage {
  return messagesUsage(usageOfTokens(promptTokens, completionTokens))
}
