import type { Effort } from '../../../schemas/efforts.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { CountTokensRequest } from '../../../schemas/messages-request.ts'

/** Efforts of this API. */
const supported: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max']

/**
 * Returns how a model should think, in Anthropic's format and as an effort for other providers. An effort
 * without `thinking` is passed on unchanged.
 */
export function thinkingOf (
  { thinking, output_config: output }: Pick<CountTokensRequest, 'thinking' | 'output_config'>
): Pick<ChatInput, 'thinking' | 'reasoning_effort'> {
  const effort = supported.find(effort => effort === output?.effort)
  const requested = effort === undefined ? {} : { reasoning_effort: effort }
  if (thinking === undefined) return requested
  if ('budget_tokens' in thinking) {
    const { budget_tokens: budget } = thinking
    return {
      thinking: { type: 'enabled', budget_tokens: budget, ...displayOf(thinking) },
      reasoning_effort: effort ?? effortOf(budget)
    }
  }
  switch (thinking.type) {
    case 'disabled': return { thinking: { type: 'disabled' }, reasoning_effort: 'none' }
    case 'adaptive': return { thinking: { type: 'adaptive', ...displayOf(thinking) }, ...requested }
    default: return requested // a type that only Anthropic knows
  }
}

function displayOf ({ display }: { readonly display?: string | null | undefined }): {
  display?: 'summarized' | 'omitted'
} {
  return display === 'summarized' || display === 'omitted' ? { display } : {}
}

function effortOf (budget: number): Effort {
  if (budget < 4096) return 'low'
  return budget < 16_384 ? 'medium' : 'high'
}
