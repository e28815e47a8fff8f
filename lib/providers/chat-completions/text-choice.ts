/**
 * Choices of a text completion, which differ from those of a chat in where their text and log probabilities
 * stand.
 */

import { objectOf } from '../../json/guards.ts'
import type { WireChoice, WireDelta } from './wire.ts'

/** Returns the text of a choice as the delta of a chat. */
export function textDelta ({ text }: WireChoice): WireDelta {
  return typeof text === 'string' ? { content: text } : {}
}

/** Returns log probabilities in four lists as the one list of a chat; `undefined` for anything else. */
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
