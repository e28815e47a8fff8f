/** Response headers with the caller's limits, and with the cost of complete answers. */

import { retryAfterMs, type RateLimits, type RefusedDecision } from './reservation.ts'
import type { Account } from './call-accounts.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Returns `x-ratelimit-limit-requests`, `-remaining-`, `-reset-`, and the same for tokens. */
export function rateLimitHeaders (limits: RateLimits): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const unit of ['requests', 'tokens'] as const) {
    const status = limits[unit]
    if (status === undefined) continue
    headers[`x-ratelimit-limit-${unit}`] = String(status.limit)
    headers[`x-ratelimit-remaining-${unit}`] = String(status.remaining)
    headers[`x-ratelimit-reset-${unit}`] = durationText(status.resetMs)
  }
  return headers
}

/**
 * Returns the headers of a refusal. No requests remain until `waitMs` have passed if the reason is the
 * number of open calls, a sum that they have reserved, or one that cannot be read.
 * `x-headgate-budget-reset` is the end of the window of a used-up budget.
 */
export function refusalHeaders (
  { accountIndex, rateLimits, waitMs, endMs }: RefusedDecision,
  accounts: readonly Account[]
): Record<string, string> {
  const headers = rateLimitHeaders(rateLimits)
  const account = accounts[accountIndex]
  if (account?.counting === 'sum' && waitMs === 0) {
    return {
      ...headers,
      ...account.budget !== undefined &&
        endMs !== undefined && { 'x-headgate-budget-reset': String(Math.ceil(endMs / 1000)) }
    }
  }
  if (account?.counting === 'rate' || waitMs > retryAfterMs) return headers
  return {
    ...headers,
    ...account?.counting === 'open' && { 'x-ratelimit-limit-requests': String(account.max) },
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': durationText(waitMs)
  }
}

/** Formats a duration: `20ms`, `1.5s`, `6m0s`. */
export function durationText (ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms - minutes * 60_000) / 1000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}

/**
 * Returns `x-headgate-cost-usd`, the cost in the usage row, and `x-headgate-cost-status` if the cost is an
 * estimate or no price is known. `undefined` for a call without a model.
 *
 * @param budgetLeftNanoUsd what was left of its budget before the call. Default: no budget
 */
export function costHeaders (
  { model, cost_nano_usd: nanoUsd, estimated }: Pick<UsageRow, 'model' | 'cost_nano_usd' | 'estimated'>,
  budgetLeftNanoUsd?: number
): Record<string, string> | undefined {
  if (model === null) return undefined
  if (nanoUsd === null) return { 'x-headgate-cost-status': 'unpriced' }
  const headers: Record<string, string> = { 'x-headgate-cost-usd': usdText(nanoUsd) }
  if (budgetLeftNanoUsd !== undefined) {
    headers[budgetLeftHeader] = usdText(Math.max(0, budgetLeftNanoUsd - nanoUsd))
  }
  return estimated === 1 ? { ...headers, 'x-headgate-cost-status': 'estimated' } : headers
}

/** The header with the amount left of the budget with the least left. */
export const budgetLeftHeader = 'x-headgate-budget-remaining-usd'

/** Formats an amount without an exponent, to the billionth of a dollar. */
export function usdText (nanoUsd: number): string {
  return (nanoUsd / 1e9).toFixed(9).replace(/\.?0{1,9}$/, '')
}
