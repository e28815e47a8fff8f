import { numberOf, objectOf, objectsOf } from '../../json/type-guards.ts'
import type { Logprobs } from '../../core/events.ts'
import type { TextLogprobs } from '../../../schemas/text-completions.ts'

/** Returns log probabilities as four lists. @param offset of the first token in the text of its choice */
export function textLogprobs (logprobs: Logprobs | undefined, offset: number): TextLogprobs | null {
  if (!Array.isArray(logprobs?.content)) return null
  const lists: TextLogprobs = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] }
  let at = offset
  for (const entry of logprobs.content) {
    const { token, logprob, top_logprobs: top } = objectOf(entry) ?? {}
    const text = typeof token === 'string' ? token : ''
    lists.tokens.push(text)
    lists.token_logprobs.push(numberOf(logprob) ?? null)
    lists.top_logprobs.push(alternatives(top))
    lists.text_offset.push(at)
    at += text.length
  }
  return lists
}

function alternatives (top: unknown): Record<string, number> | null {
  const known = objectsOf(top).flatMap(({ token, logprob }) =>
    typeof token === 'string' && typeof logprob === 'number' ? [[token, logprob] as const] : []
  )
  return known.length === 0 ? null : Object.fromEntries(known)
}
