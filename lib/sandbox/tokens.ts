/**
 * Splits texts into tokens of the sandbox: a word with its leading space, long words in pieces of 16
 * characters. Limits, usage, log probabilities and the frames of a stream all count these.
 */

import { hash } from './random.ts'

// By code point, so that no token ends in half a character.
const token = /\s+\S{0,16}|\S{1,16}/gu

/** Returns the tokens of a text; joined, they are the text. */
export function tokensOf (text: string): string[] {
  return text.match(token) ?? []
}

/** Returns as many as `tokensOf` gives, without keeping them: prompts can be large. */
export function countTokens (text: string): number {
  let count = 0
  token.lastIndex = 0
  while (token.test(text)) count++
  return count
}

export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: number[]
}

export interface TokenLogprobs extends TokenLogprob {
  readonly top_logprobs: TokenLogprob[]
}

/**
 * Returns made-up log probabilities: the token itself is always the likeliest, the alternatives fall off.
 *
 * @param position of the token in its text, from 0
 * @param top how many alternatives to list, 0–20, the token itself included
 */
export function tokenLogprobs (token: string, position: number, top: number): TokenLogprobs {
  const best = probability(token, -(hash(`${position} ${token}`) % 600) / 1000)
  const others = Array.from({ length: Math.max(0, top - 1) }, (_, rank) =>
    probability(`${token}~${rank + 1}`, best.logprob - 1.5 * (rank + 1)))
  return { ...best, top_logprobs: top === 0 ? [] : [best, ...others] }
}

function probability (token: string, logprob: number): TokenLogprob {
  return { token, logprob, bytes: [...Buffer.from(token)] }
}
