/** Usage of xAI, whose completion tokens may not include reasoning. */

import type { ChatEvent } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'

/**
 * Returns usage as the dialect counts it. xAI counts reasoning in addition to the completion (`32 + 9 + 94 =
 * 135`), others as part of it; the total shows which.
 */
export function inclusiveUsage (usage: Usage): Usage {
  const { promptTokens, completionTokens, totalTokens, reasoningTokens = 0 } = usage
  const beside = reasoningTokens > 0 && promptTokens + completionTokens + reasoningTokens === totalTokens
  return beside ? { ...usage, completionTokens: completionTokens + reasoningTokens } : usage
}

/** Converts the usage event; other events stay unchanged. */
export function withInclusiveUsage (event: ChatEvent): ChatEvent {
  return event.type === 'usage' ? { ...event, usage: inclusiveUsage(event.usage) } : event
}
