/** The fields that limit the tokens of an answer, in a request or in model settings. */

import { generationBounds, withLowerBound } from './generation-fields.ts'

/** Validated fields that limit an answer, of a request or of settings. */
export interface MaxTokensFields {
  readonly max_tokens?: unknown
  readonly max_completion_tokens?: unknown
  readonly generation_config?: unknown
}

/** Returns true if the fields limit the answer for every provider. */
export function hasMaxTokens ({
  max_tokens: maxTokens,
  max_completion_tokens: maxCompletionTokens
}: MaxTokensFields): boolean {
  return maxCompletionTokens !== undefined || maxTokens !== undefined
}

/** Returns true if the fields limit the answer for some provider. */
export function mayHaveMaxTokens (fields: MaxTokensFields): boolean {
  return hasMaxTokens(fields) || generationBounds(fields.generation_config).maxTokens !== undefined
}

/** Returns the fields with a limit of at most `maxTokens` for every provider; a lower limit stays. */
export function withMaxTokens<F extends MaxTokensFields> (
  fields: F,
  maxTokens: number
): Omit<F, 'max_tokens'> & { readonly max_completion_tokens: number } {
  const { max_tokens: legacy, ...rest } = withMaxTokensInConfig(fields, maxTokens)
  const own = rest.max_completion_tokens ?? legacy
  return { ...rest, max_completion_tokens: typeof own === 'number' ? Math.min(own, maxTokens) : maxTokens }
}

/** Returns the fields with the limit in `generation_config`, if any, lowered to `maxTokens`. */
export function withMaxTokensInConfig<F extends MaxTokensFields> (fields: F, maxTokens: number): F {
  const { generation_config: config } = fields
  return config === undefined ? fields : { ...fields, generation_config: withLowerBound(config, maxTokens) }
}
