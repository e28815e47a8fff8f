import type { ChatInput } from '../../chat/input.ts'
import type { CountTokensRequest } from '../../../schemas/messages-request.ts'

type Effort = NonNullable<ChatInput['reasoning_effort']>

const efforts: Readonly<Record<string, Effort>> = {
  low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'xhigh'
}

/**
 * Returns how a model is to think: as Anthropic words it, and as an effort for the others. A wish for an effort
 * without `thinking` is passed on as it is.
 */
export function thinkingOf (
  { thinking, output_config: output }: Pick<CountTokensRequest, 'thinking' | 'output_config'>
): Pick<ChatInput, 'thinking' | 'reasoning_effort'> {
  const effort = efforts[output?.effort ?? '']
  const wish = effort === undefined ? {} : { reasoning_effort: effort }
  if (thinking === undefined) return wish
  if ('budget_tokens' in thinking) {
    const { budget_tokens: budget } = thinking
    return { thinking: { type: 'enabled', budget_tokens: budget }, reasoning_effort: effort ?? effortOf(budget) }
  }
  switch (thinking.type) {
    case 'disabled': return { thinking: { type: 'disabled' }, reasoning_effort: 'none' }
    case 'adaptive': return { thinking: { type: 'adaptive' }, ...wish }
    default: return wish // a way of thinking that only Anthropic knows
  }
}

function effortOf (budget: number): Effort {
  if (budget < 4096) return 'low'
  return budget < 16_384 ? 'medium' : 'high'
}
