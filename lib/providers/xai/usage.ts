import type { ChatEvent } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'

/**
 * Returns usage as every client of the dialect expects it. xAI counts reasoning beside the completion
 * (`32 + 9 + 94 = 135`), all others as part of it; which of the two a response did shows in
 * its total.
 */
export function inclusiveUsage (usage: Usage): Usage {
  const { promptTokens, completionTokens, totalTokens, reasoningTokens = 0 } = usage
  const beside = reasoningTokens > 0 && promptTokens + completionTokens + reasoningTokens === totalTokens
  return beside ? { ...usage, completionTokens: completionTokens + reasoningTokens } : usage
}

/** Returns a report with its usage so counted. Other events pass as they are. */
export function withInclusiveUsage (event: ChatEvent): ChatEvent {
  return event.type === 'usage' ? { ...event, usage: inclusiveUsage(event.usage) } : event
}
