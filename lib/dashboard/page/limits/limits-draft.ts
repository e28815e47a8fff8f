/** Limits as a form holds them: texts, of which the empty one means no limit. */

import type { Static } from 'typebox'
import type { KeyLimitsConfig } from '../../../../schemas/config/keys.ts'

export type Limits = Static<typeof KeyLimitsConfig>

export interface LimitsDraft {
  readonly requestsPerMinute: string
  readonly tokensPerMinute: string
  readonly concurrentCalls: string
  readonly budgetUsd: string
  readonly budgetPer: 'day' | 'month' | 'total'
  readonly allowUnpriced: boolean
  readonly strict: boolean
}

export function draftLimits (limits: Limits | null): LimitsDraft {
  return {
    requestsPerMinute: String(limits?.requests_per_minute ?? ''),
    tokensPerMinute: String(limits?.tokens_per_minute ?? ''),
    concurrentCalls: String(limits?.concurrent_calls ?? ''),
    budgetUsd: String(limits?.budget?.usd ?? ''),
    budgetPer: limits?.budget?.per ?? 'month',
    allowUnpriced: limits?.budget?.unpriced === 'allow',
    strict: limits?.strict ?? true
  }
}

/** Returns `null` where nothing is limited. */
export function limitsOf (draft: LimitsDraft): Limits | null {
  const limits: Limits = {
    ...draft.requestsPerMinute !== '' && { requests_per_minute: Number(draft.requestsPerMinute) },
    ...draft.tokensPerMinute !== '' && { tokens_per_minute: Number(draft.tokensPerMinute) },
    ...draft.concurrentCalls !== '' && { concurrent_calls: Number(draft.concurrentCalls) },
    ...draft.budgetUsd !== '' && { budget: { usd: Number(draft.budgetUsd), per: draft.budgetPer, ...draft.allowUnpriced && { unpriced: 'allow' as const } } },
    ...draft.budgetUsd !== '' && !draft.strict && { strict: false }
  }
  return Object.keys(limits).length === 0 ? null : limits
}
