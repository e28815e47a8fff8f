/**
 * Counts tokens of cl100k_base, up to a limit. Only the worker thread loads this module: the vocabulary costs
 * 200 ms and 40 MB, and the time to count is unbounded.
 *
 * Tokenizers are quadratic in the length of a run without a break: 100 kB of one letter take ten seconds.
 * Runs are therefore cut. A cut changes the count by one or two in either direction, so a count comes with
 * its `doubt`: minus that, it is never too high, and a text without long runs is counted exactly.
 */

import { countTokens as countPiece } from 'gpt-tokenizer/encoding/cl100k_base'
import { CL100K_TOKEN_SPLIT_REGEX as pieces } from 'gpt-tokenizer/encodingParams/constants'
import type { Excess, Text, TokenLimits } from './measure-inputs.ts'

/** Maximum characters of a run that are counted together. */
const maxRunLength = 128
/** The maximum change of a count by one cut. */
const doubtPerCut = 2
/** Words repeat, and so do the pieces of a text designed to be slow. */
const cacheSize = 50_000
const maxCachedLength = 32
/** `<|endoftext|>` in a text is ordinary text. */
const plain = { disallowedSpecial: new Set<string>() }

const cache = new Map<string, number>()

export interface Count {
  /** Exact when `doubt` is 0. */
  readonly tokens: number
  readonly doubt: number
}

/** Counts the tokens of a text, and stops once it is surely over the limit. */
export function countTokens (text: string, limit: number = Infinity): Count {
  let tokens = 0
  let doubt = 0
  for (const [piece] of text.matchAll(pieces)) {
    for (let at = 0; at < piece.length; at += maxRunLength) {
      tokens += tokensOf(piece.slice(at, at + maxRunLength))
      if (at > 0) doubt += doubtPerCut
      if (tokens - doubt > limit) return { tokens, doubt }
    }
  }
  return { tokens, doubt }
}

/** Returns the first input that is certainly too long, or that makes all of them together too long. */
export function findExcess (texts: readonly Text[], limits: TokenLimits): Excess | undefined {
  let sum = 0
  for (const { index, text } of texts) {
    const { tokens, doubt } = countTokens(text, limits.perInput)
    if (tokens - doubt > limits.perInput) return { part: 'input', index }
    sum += tokens - doubt
    if (sum > limits.perRequest) return { part: 'request' }
  }
  return undefined
}

function tokensOf (piece: string): number {
  if (piece.length > maxCachedLength) return countPiece(piece, plain)
  let tokens = cache.get(piece)
  if (tokens === undefined) {
    tokens = countPiece(piece, plain)
    if (cache.size >= cacheSize) cache.clear()
    cache.set(piece, tokens)
  }
  return tokens
}
