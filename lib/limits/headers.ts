/** Writes limits as clients of this API read them: headers of every answer that was counted. */

import { retryAfterMs, type RateLimitStatus, type RateLimits, type LimitDecision } from './counters.ts'
import type { Account } from './call-accounts.ts'

type Refusal = Extract<LimitDecision, { readonly admitted: false }>

/** Returns `x-ratelimit-limit-requests`, `-remaining-`, `-reset-`, and the same for tokens. */
export function rateLimitHeaders ({ requests, tokens }: RateLimits): Record<string, string> {
  const headers: Record<string, string> = {}
  if (requests !== undefined) addHeaders(headers, names.requests, requests)
  if (tokens !== undefined) addHeaders(headers, names.tokens, tokens)
  return headers
}

const names = {
  requests: {
    limit: 'x-ratelimit-limit-requests',
    remaining: 'x-ratelimit-remaining-requests',
    reset: 'x-ratelimit-reset-requests'
  },
  tokens: {
    limit: 'x-ratelimit-limit-tokens',
    remaining: 'x-ratelimit-remaining-tokens',
    reset: 'x-ratelimit-reset-tokens'
  }
} as const

/**
 * Returns the headers of a refusal. When concurrent calls are what refuses, or a sum that open calls have
 * reserved, no request remains until one of them has ended. The end of the window of a budget that is used up
 * is `x-headgate-budget-reset`.
 */
export function refusalHeaders (
  { account: place, rateLimits, waitMs, endMs }: Refusal,
  accounts: readonly Account[]
): Record<string, string> {
  const headers = rateLimitHeaders(rateLimits)
  const account = accounts[place]
  if (account?.counting === 'sum' && waitMs === 0) {
    return {
      ...headers,
      ...account.budget !== undefined &&
        endMs !== undefined &&
        endMs !== Infinity && { 'x-headgate-budget-reset': String(Math.ceil(endMs / 1000)) }
    }
  }
  if (account?.counting === 'rate' || waitMs > retryAfterMs) return headers
  return {
    ...headers,
    ...account?.counting === 'open' && { 'x-ratelimit-limit-requests': String(account.amount) },
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': durationText(waitMs)
  }
}

/**
 * Returns what is left of the budget that has the least left, in billionths of a dollar; `undefined` where
 * there is none, or it is not known.
 */
export function budgetLeft (accounts: readonly Account[], used: readonly number[]): number | undefined {
  let least: number | undefined
  let place = 0
  for (const account of accounts) {
    if (account.counting !== 'sum') continue
    const usedOf = used[place++]
    if (account.budget === undefined || usedOf === undefined) continue
    least = Math.min(least ?? Infinity, Math.max(0, account.amount - usedOf))
  }
  return least
}

function addHeaders (
  to: Record<string, string>,
  name: (typeof names)[keyof typeof names],
  { limit, remaining, resetMs }: RateLimitStatus
): void {
  to[name.limit] = String(limit)
  to[name.remaining] = String(remaining)
  to[name.reset] = durationText(resetMs)
}

/** Formats a duration: `20ms`, `1.5s`, `6m0s`. */
export function durationText (ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms - minutes * 60_000) / 1000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}
