import { usageOfTokens, type Usage } from '../../core/usage.ts'
import type { MessagesUsage } from '../../../schemas/messages-answer.ts'

/**
 * Returns token counts as this dialect has them: what was read from a cache or written to it is counted
 * beside the prompt.
 */
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

/** Returns counts where the provider has none, or none yet. */
export function estimatedUsage (promptTokens: number, completionTokens: number): MessagesUsage {
  return messagesUsage(usageOfTokens(promptTokens, completionTokens))
}
