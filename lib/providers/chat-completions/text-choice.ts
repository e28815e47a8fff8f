/** Choices of text completions: text and log probabilities are in other fields than in chat. */

import { objectOf } from '../../json/type-guards.ts'
import type { WireChoice, WireDelta } from './wire.ts'

/** Returns a choice's text as a chat delta. */
export function textDelta ({ text }: WireChoice): WireDelta {
  return typeof text === 'string' ? { content: text } : {}
}

/** Converts the four lists of log probabilities to the single list of chat; `undefined` for anything else. */
export function textLogprobs (logprobs: Readonly<Record<string, unknown>>): unknown[] | undefined {
  const { tokens, token_logprobs: values, top_logprobs: tops } = logprobs
  if (!Array.isArray(tokens)) return undefined
  return tokens.map((token: unknown, index) => ({
    token,
    logprob: Array.isArray(values) ? (values[index] as unknown) : null,
    bytes: null,
    top_logprobs: Object.entries(objectOf(Array.isArray(tops) ? tops[index] : undefined) ?? {}).map(
      ([token, logprob]) => ({ token, logprob, bytes: null })
    )
  }))
}
