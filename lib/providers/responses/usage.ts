import { usageOf as chatUsage } from '../chat-completions/usage.ts'
import { objectOf } from '../../json/guards.ts'
import type { Usage } from '../../core/usage.ts'

/** Reads the token counts of a response: those of chat completions by other names. */
export function usageOf (value: unknown): Usage | undefined {
  const usage = objectOf(value)
  return usage === undefined ? undefined : chatUsage({
    prompt_tokens: usage['input_tokens'],
    prompt_tokens_details: usage['input_tokens_details'],
    completion_tokens: usage['output_tokens'],
    completion_tokens_details: usage['output_tokens_details'],
    total_tokens: usage['total_tokens']
  })
}
