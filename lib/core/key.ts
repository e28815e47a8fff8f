/**
 * Defines gateway keys: the headers that present them, and their rights and limits. An absent limit does not
 * apply.
 */

import type { CountedLimitName, CountedRefusal, SumRefusal } from '../../schemas/config/counted-limits.ts'
import type { CamelCase } from './camel-cased.ts'

/** Limits that are one number, by name. */
export type CountedAmounts = { readonly [Name in CountedLimitName as CamelCase<Name>]?: number }

export interface PartyLimits extends CountedAmounts {
  readonly budget?: Budget
  /** Further budgets; all apply together. */
  readonly budgets?: readonly Budget[]
  /** Limits the length of each answer to the rest of the budget. Default: true. */
  readonly strict?: boolean
}

/**
 * The names of sums. In a refusal, `…_too_small` means that less is left than the call needs, and
 * `…_reserved` that open calls have reserved the rest.
 */
export type SumName = 'budget' | SumRefusal

/**
 * Names of reasons for refusing a call, for the log and for metrics. `budget_unread`: the store has not
 * reported in time how much an end user has spent.
 */
export type LimitRefusal =
  CountedRefusal | SumName | `${SumName}_${'too_small' | 'reserved'}` | 'budget_unread'

export interface Budget {
  readonly usd: number
  /** Default: a month, or `every`. */
  readonly per?: 'hour' | 'day' | 'week' | 'month' | 'total'
  /** A time zone of the IANA database, in whose days `per` counts. Default: UTC. */
  readonly timeZone?: string
  /** Instead of `per`: a length such as `30d`, and the start of one of the periods. */
  readonly every?: string
  readonly from?: string
  /**
   * How models and fields without a known price are treated. Default `refuse`: their cost would not count.
   */
  readonly unpriced?: 'allow' | 'refuse'
  /** True for a budget that refuses nothing: once it is used up, the log and alerts report it. */
  readonly soft?: boolean
}

export const budgetPeriods = ['hour', 'day', 'week', 'month', 'total'] as const satisfies ReadonlyArray<
  Budget['per']
>

/** Returns the budget in billionths of a dollar, the unit of usage rows. */
export function nanoUsdOf ({ usd }: Budget): number {
  return Math.round(usd * 1e9)
}

/** Prints `$20 a month`. */
export function budgetText ({ usd, per = 'month', timeZone, every }: Budget): string {
  if (every !== undefined) return `$${usd} every ${every}`
  return per === 'total'
    ? `$${usd} in total`
    : `$${usd} ${per === 'hour' ? 'an' : 'a'} ${per}${timeZone === undefined ? '' : ` of ${timeZone}`}`
}

/** The rights and limits of a gateway key. Never the key itself. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** Names of endpoints the key may call; absent: all. */
  readonly endpoints?: readonly string[]
  /** Model ids or `provider/*` patterns the key may use; absent: all. */
  readonly models?: readonly string[]
  /** Slugs of the tool servers the key may use, `*` for all; absent: all. */
  readonly mcpServers?: readonly string[]
  /** Absent: true for a key that may use all tool servers, otherwise false. */
  readonly mcpUrls?: boolean
  /**
   * True if it may use objects stored in the gateway's accounts at providers, which all keys share: files,
   * containers, threads.
   */
  readonly providerObjects?: boolean
  /** Names of guards that inspect all of its calls: its own, and those of its project. */
  readonly guards?: readonly string[]
  /** Unix time in milliseconds; absent: never. */
  readonly expiresAtMs?: number
  /** Absent: the configured limits of keys without limits. */
  readonly limits?: PartyLimits
  /** Absent for a key of the default project, unless that project has limits. */
  readonly project?: KeyProject
  /** The person who owns it, if limits apply to all their keys together. */
  readonly member?: KeyMember
}

/** Returns true for a key that is no longer valid. */
export function isExpired ({ expiresAtMs = Infinity }: ApiKey): boolean {
  return expiresAtMs <= Date.now()
}

/** The project of keys without another one, including those of the configuration. */
export const defaultProject = 'default'

export function projectIdOf ({ project }: Pick<ApiKey, 'project'>): string {
  return project?.id ?? defaultProject
}

/**
 * Returns the names by which the configuration may refer to the project of a key. The id takes precedence.
 */
export function projectNamesOf (key: Pick<ApiKey, 'project'>): readonly [id: string, name: string] {
  return [projectIdOf(key), key.project?.name ?? defaultProject]
}

/** A group of keys. */
export interface KeyProject {
  readonly id: string
  readonly name: string
  /** Limits of all its keys together. */
  readonly limits?: PartyLimits
}

/** The owner of keys. */
export interface KeyMember {
  /** Of the user. */
  readonly id: string
  readonly name: string
  /** Limits of all their keys together. */
  readonly limits: PartyLimits
}

/** Headers that may hold a key, in order of precedence. */
const keyHeaders = ['x-litellm-api-key', 'authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const

/**
 * Returns the keys that a caller presents, in order of precedence. In `Authorization`, a key needs `Bearer`
 * before it; in `X-LiteLLM-API-Key`, it may have it; the other headers hold the key alone. Everything after
 * the first space is the key.
 */
export function presentedKeys (headers: Readonly<Record<string, string | string[] | undefined>>): string[] {
  const keys: string[] = []
  for (const name of keyHeaders) {
    const value = headers[name]
    if (typeof value !== 'string') continue
    const isBearer = /^bearer /i.test(value)
    if (isBearer && (name === 'authorization' || name === 'x-litellm-api-key')) {
      keys.push(value.slice('bearer '.length))
    } else if (name !== 'authorization') keys.push(value)
  }
  return keys
}
