/** Reads the token counts of an answer, under the names that servers of the dialect use. */

import { countOf, objectOf, objectsOf, property } from '../../json/type-guards.ts'
import type { JsonObject } from '../../json/type-guards.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'

const pathsOf = (...names: readonly string[]): ReadonlyArray<readonly string[]> =>
  names.map(name => name.split('.'))

/** Paths of each count: the dialect's first, then those of other servers. A dot descends into an object. */
const promptPaths = pathsOf('prompt_tokens', 'input_tokens')
const completionPaths = pathsOf('completion_tokens', 'output_tokens')

/** The parts of both counts, which are kept only if reported: absent and zero differ. */
const parts = [
  ['cachedTokens', pathsOf(
    'prompt_tokens_details.cached_tokens',
    'input_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cache_read_input_tokens',
    'cached_tokens'
  )],
  ['cacheWriteTokens', pathsOf(
    'prompt_tokens_details.cache_write_tokens',
    'input_tokens_details.cache_write_tokens',
    'prompt_tokens_details.cache_creation_tokens',
    'cache_creation_input_tokens'
  )],
  ['promptAudioTokens', pathsOf('prompt_tokens_details.audio_tokens', 'input_tokens_details.audio_tokens')],
  ['reasoningTokens', pathsOf(
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'reasoning_tokens'
  )],
  ['completionAudioTokens', pathsOf(
    'completion_tokens_details.audio_tokens',
    'output_tokens_details.audio_tokens'
  )],
  ['acceptedPredictionTokens', pathsOf('completion_tokens_details.accepted_prediction_tokens')],
  ['rejectedPredictionTokens', pathsOf('completion_tokens_details.rejected_prediction_tokens')]
] as const

/** Returns the token counts from anywhere in an answer; `undefined` if none were reported. */
export function usageIn (answer: object): Usage | undefined {
  const usage = readUsage(Reflect.get(answer, 'usage'))
  return usage === undefined || usage.totalTokens === 0 ? laterUsage(usageWithin(answer), usage) : usage
}

/** Reads counts inside parts of an answer, where some servers report them. */
function usageWithin (answer: object): Usage | undefined {
  const choices = objectsOf(Reflect.get(answer, 'choices'))
  const holders = [
    ...['x_groq', 'meta', 'metadata'].map(name => objectOf(Reflect.get(answer, name))), ...choices,
    ...choices.flatMap(choice => [objectOf(choice['delta']), objectOf(choice['message'])])
  ]
  return holders.map(holder => readUsage(property(holder, 'usage'))).reduceRight(laterUsage)
}

/** Returns the later of two reports, ignoring a report of zeros if the other has counts. */
export function laterUsage (earlier: Usage | undefined, usage: Usage | undefined): Usage | undefined {
  return usage === undefined || (usage.totalTokens === 0 && earlier !== undefined) ? earlier : usage
}

/**
 * Reads the token counts of the dialect. `null`, `{}`, non-numeric and impossible counts mean no report
 * (`undefined`), and so does a total or a part alone: what is missing would cost nothing. Negative counts are
 * read as 0, numeric strings as numbers, and a total below the sum of its parts as the sum.
 */
export function readUsage (value: unknown): Usage | undefined {
  const usage = objectOf(value)
  if (usage === undefined) return undefined
  const total = countOf(usage['total_tokens'])
  const given = countAt(usage, promptPaths)
  const completion = countAt(usage, completionPaths) ?? lessThan(total, given)
  const prompt = given ?? lessThan(total, completion)
  if (prompt === undefined || completion === undefined) return undefined
  const promptTokens = prompt + tokensOutsidePrompt(usage)
  const counts: { -readonly [K in keyof Usage]: Usage[K] } = {
    promptTokens,
    completionTokens: completion,
    totalTokens: Math.max(total ?? 0, promptTokens + completion)
  }
  for (const [name, paths] of parts) {
    const count = countAt(usage, paths)
    if (count !== undefined) counts[name] = count
  }
  return possibleUsage(counts)
}

/** Subtracts a part from the total, if both are known. */
function lessThan (total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined ? undefined : Math.max(0, total - part)
}

/** Anthropic's names imply Anthropic's counting: `input_tokens` excludes cached tokens. */
function tokensOutsidePrompt (usage: JsonObject): number {
  if (usage['prompt_tokens'] !== undefined || usage['input_tokens_details'] !== undefined) return 0
  return (
    (countOf(usage['cache_read_input_tokens']) ?? 0) + (countOf(usage['cache_creation_input_tokens']) ?? 0)
  )
}

function countAt (usage: JsonObject, paths: ReadonlyArray<readonly string[]>): number | undefined {
  for (const [field = '', detail] of paths) {
    const count = countOf(detail === undefined ? usage[field] : objectOf(usage[field])?.[detail])
    if (count !== undefined) return count
  }
  return undefined
}
