import { countOf, objectsOf } from '../../json/type-guards.ts'
import type { UsageMetadata } from './wire.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'

/**
 * Converts Gemini's token counts. Thoughts are counted separately but billed as output; cached tokens are
 * already part of the prompt.
 *
 * @param hasOutput true if there was output, so its count cannot be zero
 * @returns `undefined` if the prompt or output count is missing; usage is then estimated
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
