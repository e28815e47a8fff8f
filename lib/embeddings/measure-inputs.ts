/**
 * Returns whether inputs are longer than a model accepts, where that can be decided without a tokenizer.
 *
 * A token is at least one byte and at most `maxTokenBytes`, so the size of a text in UTF-8 limits its tokens
 * from both sides, which decides most cases. Lists of tokens are already counted. The remaining texts are
 * counted elsewhere (`token-counter`): a tokenizer takes seconds for texts designed to be slow, and this
 * function must not.
 */

import { inputsOf } from './input.ts'
import type { EmbeddingInput } from '../../schemas/embeddings.ts'

export interface TokenLimits {
  readonly perInput: number
  readonly perRequest: number
}

/** The part that is too long: one of the inputs, or all of them together. */
export type Excess = { readonly part: 'input', readonly index: number } | { readonly part: 'request' }

export interface Text {
  /** Index of the input. */
  readonly index: number
  readonly text: string
}

export type Measure =
  | { readonly verdict: 'within' }
  | { readonly verdict: 'beyond', readonly excess: Excess }
  | { readonly verdict: 'unknown', readonly toCount: readonly Text[] }

/** In the vocabulary of cl100k_base: 128 spaces. */
export const maxTokenBytes = 128

/** Compares inputs with limits. Reads each text once, at memory speed. */
export function measureInputs (input: EmbeddingInput, limits: TokenLimits): Measure {
  const bounds = inputsOf(input).map(boundsOf)
  let least = 0
  let most = 0
  for (const [index, bound] of bounds.entries()) {
    if (bound.least > limits.perInput) return { verdict: 'beyond', excess: { part: 'input', index } }
    least += bound.least
    most += bound.most
  }
  if (least > limits.perRequest) return { verdict: 'beyond', excess: { part: 'request' } }
  // While the sum is surely within, only what may be too long by itself has to be counted.
  const sumIsWithin = most <= limits.perRequest
  const toCount: Text[] = []
  for (const [index, { text, most }] of bounds.entries()) {
    if (text !== undefined && (!sumIsWithin || most > limits.perInput)) toCount.push({ index, text })
  }
  return toCount.length === 0 ? { verdict: 'within' } : { verdict: 'unknown', toCount }
}

interface Bounds {
  readonly least: number
  readonly most: number
  /** Absent for tokens. */
  readonly text?: string
}

function boundsOf (input: string | readonly number[]): Bounds {
  if (typeof input !== 'string') return { least: input.length, most: input.length }
  const bytes = Buffer.byteLength(input)
  return { least: Math.ceil(bytes / maxTokenBytes), most: bytes, text: input }
}
