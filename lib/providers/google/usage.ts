import { countOf, objectsOf } from '../../json/guards.ts'
import type { UsageMetadata } from './wire.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'

/**
 * Reads Gemini's token counts as ours. Thoughts are billed output although they are counted apart; the
 * cached part is already inside the prompt.
 *
 * @param hasOutput something was written: its count cannot be zero
 * @returns `undefined` for a report without the prompt, or without what was written: what is used is
 *   estimated then
 */
export function readUsageMetadata (wire: UsageMetadata, hasOutput = false): Usage | undefined {
  const {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: thoughts,
    totalTokenCount: total
  } = wire
  if (countOf(prompt) === undefined) return undefined
  const promptTokens = count(prompt) + count(wire.toolUsePromptTokenCount)
  const isReported = !hasOutput || countOf(candidates) !== undefined || countOf(thoughts) !== undefined
  if (!isReported && countOf(total) === undefined) return undefined
  const completionTokens = isReported
    ? count(candidates) + count(thoughts)
    : Math.max(0, count(total) - promptTokens)
  const audio = objectsOf(wire.promptTokensDetails).find(({ modality }) => modality === 'AUDIO')
  return possibleUsage({
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    ...wire.cachedContentTokenCount !== undefined && { cachedTokens: count(wire.cachedContentTokenCount) },
    ...wire.thoughtsTokenCount !== undefined && { reasoningTokens: count(wire.thoughtsTokenCount) },
    ...audio !== undefined && { promptAudioTokens: count(audio.tokenCount) }
  })
}

function count (value: unknown): number {
  return countOf(value) ?? 0
}
