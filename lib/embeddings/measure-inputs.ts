/**
 * Returns whether inputs are longer than a model takes, where that can be said without a tokenizer.
 *
 * A token is at least one byte and at most `maxTokenBytes`, so the size of a text in UTF-8
 * bounds its tokens from both sides; most texts need no more than that. Lists of tokens are
 * counted already. What is left has to be counted, elsewhere (`token-counter`): a tokenizer takes
 * seconds for texts made to be hard, and nothing here may.
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
  /** Among the inputs. */
  readonly index: number
  readonly text: string
}

export type Measure =
  | { readonly verdict: 'within' }
  | { readonly verdict: 'beyond', readonly excess: Excess }
  | { readonly verdict: 'unknown', readonly toCount: readonly Text[] }

/** In the vocabulary of cl100k_base: 128 spaces. */
export const maxTokenBytes = 128

/** Measures inputs against limits. Costs a pass over the texts at memory speed. */
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
