import { objectOf } from '../../json/guards.ts'
import type { Usage } from '../../core/usage.ts'

/**
 * Reads the token counts of the dialect, or `undefined` when none were reported: `null`, `{}` and
 * counts that are no numbers are no report. Negative counts have been seen and are read as zero,
 * numbers as text as numbers, and a total below the sum of its parts as that sum.
 */
export function usageOf (value: unknown): Usage | undefined {
  const usage = objectOf(value)
  if (usage === undefined) return undefined
  const prompt = count(usage['prompt_tokens'])
  const completion = count(usage['completion_tokens'])
  const total = count(usage['total_tokens'])
  if (prompt === undefined && completion === undefined && total === undefined) return undefined
  const promptDetails = objectOf(usage['prompt_tokens_details']) ?? {}
  const details = objectOf(usage['completion_tokens_details']) ?? {}
  return {
    promptTokens: prompt ?? 0,
    completionTokens: completion ?? 0,
    totalTokens: Math.max(total ?? 0, (prompt ?? 0) + (completion ?? 0)),
    ...counts({
      cachedTokens: promptDetails['cached_tokens'] ?? usage['prompt_cache_hit_tokens'],
      cacheWriteTokens: promptDetails['cache_write_tokens'],
      promptAudioTokens: promptDetails['audio_tokens'],
      reasoningTokens: details['reasoning_tokens'],
      completionAudioTokens: details['audio_tokens'],
      acceptedPredictionTokens: details['accepted_prediction_tokens'],
      rejectedPredictionTokens: details['rejected_prediction_tokens']
    })
  }
}

function count (value: unknown): number | undefined {
  const tokens = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof tokens === 'number' && Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : undefined
}

/** Returns only the counts that were reported: absent and zero differ. */
function counts<K extends string> (values: Record<K, unknown>): Partial<Record<K, number>> {
  const known: Partial<Record<K, number>> = {}
  for (const key in values) {
    const tokens = count(values[key])
    if (tokens !== undefined) known[key] = tokens
  }
  return known
}
