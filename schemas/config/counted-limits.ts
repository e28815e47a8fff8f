/**
 * The table of limits that are one number. A row is everything that the configuration, the admin API, the
 * command line, the dashboard, the counters, the messages between processes, refusals and metrics know about
 * a limit. Budgets, which have windows of any length, are separate (`keys.ts`).
 */

import type { NonTokenColumn } from '../billed-units.ts'

/** Units of limits; budgets count money. Units billed instead of tokens have the names of their columns. */
export type CountedUnit = 'requests' | 'tokens' | 'calls' | NonTokenColumn

/**
 * Ways to count. `rate`: an amount per minute, which refills evenly. `open`: what is in use now. `sum`: what
 * was used since the window began.
 */
export type Counting = 'rate' | 'open' | 'sum'

/** Sums are read back from the ledger, which adds up only units that are billed instead of tokens. */
interface SumCounting {
  readonly unit: NonTokenColumn
  readonly counting: 'sum'
  /** The window, in UTC. */
  readonly per: 'day' | 'month'
}

interface OtherCounting {
  readonly unit: CountedUnit
  readonly counting: Exclude<Counting, 'sum'>
}

export type CountedLimit = LimitTexts & (SumCounting | OtherCounting)

interface LimitTexts {
  readonly maximum: number
  /** Its value in metrics and in the log when it refuses a call. */
  readonly refusal: string
  /** Follows "This API key allows 5". */
  readonly allows: string
  /** Follows "This API key allows 1". */
  readonly allowsOne: string
  /** A sentence that follows. */
  readonly note?: string
  /** In the reference of the configuration. */
  readonly description: string
  /** In the help of the command line. */
  readonly help: string
  /** In forms. */
  readonly label: string
}

export const countedLimits = {
  requests_per_minute: {
    unit: 'requests',
    counting: 'rate',
    maximum: 1_000_000,
    refusal: 'requests',
    allows: 'requests to providers per minute',
    allowsOne: 'request to a provider per minute',
    note: 'Retries and further tool turns of a call count too.',
    description: 'Requests to providers per minute; a full minute\'s amount may be used at once.',
    help: 'provider requests per minute',
    label: 'Requests per minute'
  },
  tokens_per_minute: {
    unit: 'tokens',
    counting: 'rate',
    maximum: 1_000_000_000,
    refusal: 'tokens',
    allows: 'tokens per minute',
    allowsOne: 'token per minute',
    description: 'Tokens per minute, prompt and completion together.',
    help: 'tokens per minute, prompt and completion together',
    label: 'Tokens per minute'
  },
  concurrent_calls: {
    unit: 'calls',
    counting: 'open',
    maximum: 1_000_000,
    refusal: 'concurrent_calls',
    allows: 'concurrent calls',
    allowsOne: 'concurrent call',
    description: 'Calls open at the same time; further ones are refused with 429.',
    help: 'concurrent calls',
    label: 'Concurrent calls'
  },
  images_per_day: {
    unit: 'images',
    counting: 'sum',
    per: 'day',
    maximum: 1_000_000,
    refusal: 'images',
    allows: 'images per day, in UTC',
    allowsOne: 'image per day, in UTC',
    description: 'Generated images per day, in UTC.',
    help: 'generated images per day, in UTC',
    label: 'Images per day'
  }
} as const satisfies Readonly<Record<string, CountedLimit>>

/** The names of these limits in the configuration and the admin API. */
export type CountedLimitName = keyof typeof countedLimits

/** Their values in metrics, for limits with one way of counting. */
type RefusalOf<How extends Counting> = {
  [Name in CountedLimitName]: (typeof countedLimits)[Name]['counting'] extends How
    ? (typeof countedLimits)[Name]['refusal']
    : never
}[CountedLimitName]

export type CountedRefusal = RefusalOf<'rate' | 'open'>
export type SumRefusal = RefusalOf<'sum'>

export const countedLimitNames = Object.keys(countedLimits) as CountedLimitName[] // its keys are those
