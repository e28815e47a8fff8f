/** Estimates the tokens of a request cheaply: for reservations, and for answers that were cut off. */

import { estimateTokens } from '../embeddings/measure-tokens.ts'
import type { Usage } from '../core/usage.ts'
import type { ChatInput } from '../chat/input.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

export interface TokenEstimate {
  readonly prompt: number
  readonly completion: number
}

const charactersPerToken = 4
/** Assumed for an image, a recording or a document, whose length says nothing about its tokens. */
const mediaTokens = 1000
const mediaCharacters = 4096
/** Assumed for an answer whose length the caller does not bound. */
const answerTokens = 1000

/** Estimates four characters per token, and the longest answer the request allows. */
export function estimateChat (request: ChatInput): TokenEstimate {
  const { messages, tools, max_completion_tokens: maxCompletionTokens, max_tokens: maxTokens, n = 1 } = request
  return {
    prompt: Math.ceil((charactersOf(messages) + charactersOf(tools)) / charactersPerToken),
    completion: n * (maxCompletionTokens ?? maxTokens ?? answerTokens)
  }
}

export function estimateEmbeddings ({ input }: EmbeddingsRequest): TokenEstimate {
  return { prompt: estimateTokens(input), completion: 0 }
}

/** Sums the lengths of all strings in a value. */
function charactersOf (value: unknown): number {
  if (typeof value === 'string') return isMedia(value) ? mediaTokens * charactersPerToken : value.length
  if (typeof value !== 'object' || value === null) return 0
  let characters = 0
  for (const part of Object.values(value)) characters += charactersOf(part)
  return characters
}

/** Recognises base64, with or without `data:` in front: it has no spaces. */
function isMedia (text: string): boolean {
  return text.length > mediaCharacters && !/\s/.test(text.slice(0, mediaCharacters))
}

/** Estimates what an answer used whose provider does not say. */
export function embeddingsUsage ({ input }: EmbeddingsRequest): Usage {
  const tokens = estimateTokens(input)
  return { promptTokens: tokens, completionTokens: 0, totalTokens: tokens }
}
