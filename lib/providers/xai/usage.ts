import type { ChatEvent } from '../../core/events.ts'

/**
 * Returns usage as every client of the dialect expects it. xAI counts reasoning beside the completion
 * (`32 + 9 + 94 = 135`), all others as part of it; which of the two a response did shows in
 * its total. Other events pass as they are.
 */
export function inclusiveUsage (event: ChatEvent): ChatEvent {
  if (event.type !== 'usage') return event
  const { promptTokens, completionTokens, totalTokens, reasoningTokens = 0 } = event.usage
  const beside = reasoningTokens > 0 && promptTokens + completionTokens + reasoningTokens === totalTokens
  return beside
    ? { ...event, usage: { ...event.usage, completionTokens: completionTokens + reasoningTokens } }
    : event
}
