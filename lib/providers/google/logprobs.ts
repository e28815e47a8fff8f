import { objectsOf } from '../../json/type-guards.ts'
import type { LogprobsCandidate, LogprobsResult } from './wire.ts'
import type { Logprobs } from '../../core/events.ts'

/** Converts Gemini's log probabilities to our wire format, if there are any. */
export function logprobsOf (result: LogprobsResult | undefined): Logprobs | undefined {
  const chosen = objectsOf(result?.chosenCandidates)
  if (chosen.length === 0) return undefined
  return {
    content: chosen.map((candidate, position) => {
      const alternatives = objectsOf(result?.topCandidates?.[position]?.candidates)
      return Object.assign(tokenOf(candidate), { top_logprobs: alternatives.map(tokenOf) })
    })
  }
}

function tokenOf ({ token = '', logProbability = 0 }: LogprobsCandidate): Record<string, unknown> {
  // Tokens that end inside a character contain U+FFFD: their bytes are lost.
  const bytes = token.includes('\uFFFD') ? null : [...Buffer.from(token)]
  return { token, logprob: logProbability, bytes }
}
