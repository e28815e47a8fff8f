import { countOf, objectsOf } from '../../json/guards.ts'
import type { UsageMetadata } from './wire.ts'
import type { Usage } from '../../core/usage.ts'

/**
 * Reads Gemini's token counts as ours. Thoughts are billed output although they are counted apart; the
 * cached part is already inside the prompt. Absent counts are zero.
 */
export function usageOf (wire: UsageMetadata): Usage {
  const promptTokens = count(wire.promptTokenCount) + count(wire.toolUsePromptTokenCount)
  const completionTokens = count(wire.candidatesTokenCount) + count(wire.thoughtsTokenCount)
  const audio = objectsOf(wire.promptTokensDetails).find(({ modality }) => modality === 'AUDIO')
  return {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    ...wire.cachedContentTokenCount !== undefined && { cachedTokens: count(wire.cachedContentTokenCount) },
    ...wire.thoughtsTokenCount !== undefined && { reasoningTokens: count(wire.thoughtsTokenCount) },
    ...audio !== undefined && { promptAudioTokens: count(audio.tokenCount) }
  }
}

function count (value: unknown): number {
  return countOf(value) ?? 0
}
