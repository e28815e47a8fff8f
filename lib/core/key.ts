/** Limits what one gateway key may use; an absent limit does not apply. */

export interface KeyLimits {
  readonly requestsPerMinute?: number
  /** Prompt and completion together. */
  readonly tokensPerMinute?: number
  /** Concurrent calls. */
  readonly concurrentCalls?: number
  readonly budget?: Budget
  /** Limits the length of each answer to what is left of the budget. Default: true. */
  readonly strict?: boolean
}

/**
 * The names of limits that can refuse a call. `budget`: nothing is left of it; `budget_too_small`: less than the call costs at least;
 * `budget_reserved`: open calls may exhaust it.
 */
export const limitNames = ['requests', 'tokens', 'concurrent_calls', 'budget', 'budget_too_small', 'budget_reserved'] as const

export type Limit = typeof limitNames[number]

export interface Budget {
  readonly usd: number
  /** Days and months of UTC. */
  readonly per: 'day' | 'month' | 'total'
  /** Decides about models and fields without a known price. Default `refuse`: what they cost would not count. */
  readonly unpriced?: 'allow' | 'refuse'
}

export const budgetPeriods = ['day', 'month', 'total'] as const satisfies ReadonlyArray<Budget['per']>

/** Keeps the limits that depend on what a call used: the rest was checked when it was admitted. */
export function usageLimits ({ tokensPerMinute, budget, strict }: KeyLimits): KeyLimits {
  return { ...tokensPerMinute !== undefined && { tokensPerMinute }, ...budget !== undefined && { budget }, ...strict !== undefined && { strict } }
}

/** Keeps the limits of a call that costs nothing: all but the budget. */
export function limitsWithoutBudget ({ requestsPerMinute, tokensPerMinute, concurrentCalls }: KeyLimits): KeyLimits {
  return {
    ...requestsPerMinute !== undefined && { requestsPerMinute },
    ...tokensPerMinute !== undefined && { tokensPerMinute },
    ...concurrentCalls !== undefined && { concurrentCalls }
  }
}

/** Returns the budget in billionths of a dollar, which is what usage records count in. */
export function nanoUsdOf ({ usd }: Budget): number {
  return Math.round(usd * 1e9)
}

/** Prints `$20 a month`, for people. */
export function budgetText ({ usd, per }: Budget): string {
  return per === 'total' ? `$${usd} in total` : `$${usd} a ${per}`
}

/** The owner of a gateway key and what it may do. Never the key itself. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** Endpoint names the key may call; absent means all. */
  readonly endpoints?: readonly string[]
  /** Model ids or `provider/*` patterns the key may use; absent means all. */
  readonly models?: readonly string[]
  /** Slugs of the MCP servers the key may use, `*` for all; absent means all. */
  readonly mcpServers?: readonly string[]
  /** Absent means true for a key that may use all MCP servers, else false. */
  readonly mcpUrls?: boolean
  /** True: it may use what is stored in the gateway's accounts at providers, which all keys share: files, containers, threads. */
  readonly providerObjects?: boolean
  /** Unix time in milliseconds; absent means never. */
  readonly expiresAtMs?: number
  /** Its limits; absent means those the configuration gives such keys. */
  readonly limits?: KeyLimits
  /** Absent for keys of the default one, unless that has limits. */
  readonly project?: KeyProject
}

/** The project of keys that are in no other, those of the configuration included. */
export const defaultProject = 'default'

/** A group of keys. */
export interface KeyProject {
  readonly id: string
  readonly name: string
  /** Limits of all its keys together. */
  readonly limits?: KeyLimits
}
