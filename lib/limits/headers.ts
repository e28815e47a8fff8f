/** Writes limits as clients of this API read them: headers of every answer that was counted. */

import type { KeyLimits } from '../core/key.ts'
import type { RateLimitStatus, RateLimits, LimitDecision } from './counters.ts'

type Refusal = Extract<LimitDecision, { readonly admitted: false }>

/** Returns `x-ratelimit-limit-requests`, `-remaining-`, `-reset-`, and the same for tokens. */
export function rateLimitHeaders ({ requests, tokens }: RateLimits): Record<string, string> {
  return { ...headersOf('requests', requests), ...headersOf('tokens', tokens) }
}

/**
 * Returns the headers of a refusal. When concurrent calls are what refuses, or a budget that open calls have
 * reserved, no request remains until one of them has ended.
 */
export function refusalHeaders ({ rateLimits, reason, waitMs }: Refusal, { concurrentCalls }: KeyLimits): Record<string, string> {
  const headers = rateLimitHeaders(rateLimits)
  if (reason !== 'concurrent_calls' && reason !== 'budget_reserved') return headers
  return {
    ...headers,
    ...reason === 'concurrent_calls' && { 'x-ratelimit-limit-requests': String(concurrentCalls) },
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': durationText(waitMs)
  }
}

function headersOf (name: 'requests' | 'tokens', room: RateLimitStatus | undefined): Record<string, string> {
  if (room === undefined) return {}
  return {
    [`x-ratelimit-limit-${name}`]: String(room.limit),
    [`x-ratelimit-remaining-${name}`]: String(room.remaining),
    [`x-ratelimit-reset-${name}`]: durationText(room.resetMs)
  }
}

/** Formats a duration: `20ms`, `1.5s`, `6m0s`. */
export function durationText (ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms - minutes * 60_000) / 1000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}
