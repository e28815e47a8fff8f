/** How many tokens a request may come to, cheaply: for reservations and for answers that broke off. */

import { estimateTokens } from '../embeddings/tokens.ts'
import type { ChatInput } from '../chat/input.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'

export interface TokenEstimate {
  readonly prompt: number
  readonly completion: number
}

const charactersPerToken = 4
/** Of a picture, a recording or a document, whose characters say nothing of its tokens. */
const mediaTokens = 1000
const mediaCharacters = 4096
/** Of an answer whose length the caller does not bound. */
const answerTokens = 1000

/** Four characters are a token; the answer is as long as it may be. */
export function estimateChat (request: ChatInput): TokenEstimate {
  const { messages, tools, max_completion_tokens: most, max_tokens: mostOf, n = 1 } = request
  return {
    prompt: Math.ceil((charactersOf(messages) + charactersOf(tools)) / charactersPerToken),
    completion: n * (most ?? mostOf ?? answerTokens)
  }
}

export function estimateEmbeddings ({ input }: EmbeddingsRequest): TokenEstimate {
  return { prompt: estimateTokens(input), completion: 0 }
}

/** Of all texts in a value. */
function charactersOf (value: unknown): number {
  if (typeof value === 'string') return isMedia(value) ? mediaTokens * charactersPerToken : value.length
  if (typeof value !== 'object' || value === null) return 0
  let characters = 0
  for (const part of Object.values(value)) characters += charactersOf(part)
  return characters
}

/** Base64 has no spaces, with or without `data:` in front. */
function isMedia (text: string): boolean {
  return text.length > mediaCharacters && !/\s/.test(text.slice(0, mediaCharacters))
}
