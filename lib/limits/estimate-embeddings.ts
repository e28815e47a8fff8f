/** Estimates the tokens of embeddings requests. */

import { inputsOf } from '../embeddings/input.ts'
import { charactersPerToken, usageOfTokens, type Usage } from '../core/usage.ts'
import type { EmbeddingInput, EmbeddingsRequest } from '../../schemas/embeddings.ts'
import { estimateOf, type Estimate } from './estimate.ts'

export function estimateEmbeddings ({ input }: EmbeddingsRequest): Estimate {
  return estimateOf({ prompt: { typical: embeddingTokens(input) }, answer: { typical: 0, limit: 0 } })
}

/** Estimates the usage of an answer for which the provider reports none. */
export function embeddingsUsage ({ input }: EmbeddingsRequest): Usage {
  return usageOfTokens(embeddingTokens(input), 0)
}

function embeddingTokens (input: EmbeddingInput): number {
  let tokens = 0
  for (const one of inputsOf(input)) {
    tokens += typeof one === 'string' ? Math.ceil(Buffer.byteLength(one) / charactersPerToken) : one.length
  }
  return tokens
}
