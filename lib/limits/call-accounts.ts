/**
 * The accounts that a call counts in, one for each limit of each party that applies to it. The counters in
 * memory and in Redis, and the messages of workers, all follow the order of this list.
 */

import {
  perUnitOf,
  recordedNonTokenUnits,
  type NonTokenColumn
} from '../../schemas/billed-units.ts'
import type { CountedLimitName, Counting, CountedUnit } from '../../schemas/config/counted-limits.ts'
import {
  nanoUsdOf,
  type ApiKey,
  type Budget,
  type PartyLimits,
  type SumName
} from '../core/key.ts'
import { limitFields } from './limit-table.ts'
import { windowName, windowOfBudget, type Window } from './windows.ts'

/** What accounts count; money is in billionths of a dollar, as in usage rows. */
export type Unit = CountedUnit | 'nanoUsd'

/** Names of party kinds in messages. */
export const partyWords = {
  key: 'API key', project: 'project', member: 'member', end_user: 'end user', tag: 'tag', model: 'model'
} as const

export type PartyKind = keyof typeof partyWords

/** Identifies a party. */
export interface PartyRef {
  readonly kind: PartyKind
  readonly id: string
}

/** A party whose limits apply to a call: `limitAccountsOf` makes an account of each limit. */
export interface Party extends PartyRef {
  readonly limits: PartyLimits
}

/** Returns a phrase for a party, used in messages to its caller. */
export function partyText ({ kind, id }: PartyRef): string {
  return kind === 'tag' || kind === 'model' ? `the ${partyWords[kind]} \`${id}\`` : `this ${partyWords[kind]}`
}

interface AccountBase {
  readonly party: PartyRef
  readonly unit: Unit
  /** The limit, in the unit of the usage column. */
  readonly max: number
}

/** A limit per minute, or of concurrent calls. */
export interface RateOrConcurrencyAccount extends AccountBase {
  readonly counting: Exclude<Counting, 'sum'>
  /** Its row in the table of limits. */
  readonly limitName: CountedLimitName
}

/** A limit on usage within a window. */
export interface SumAccount extends AccountBase {
  readonly counting: 'sum'
  /** Its row in the table of limits, which has none for budgets. */
  readonly limitName: CountedLimitName | 'budget'
  readonly name: SumName
  readonly window: Window
  /**
   * True if a call may be granted less than its maximum and is held to the grant. Otherwise its usual amount
   * is reserved.
   */
  readonly strict: boolean
  /** The budget behind this limit; only for limits on money that refuse calls. */
  readonly budget?: Budget
  /** Soft budgets of the same window, which refuse nothing. */
  readonly soft?: readonly Budget[]
}

export type Account = RateOrConcurrencyAccount | SumAccount

/** Lists the parties whose limits apply to a key: the key, its project and its member. */
export function limitedParties (
  { id, limits, project, member }: ApiKey,
  defaultLimits: PartyLimits | undefined
): Party[] {
  const parties: Party[] = []
  const own = limits ?? defaultLimits
  if (own !== undefined) parties.push({ kind: 'key', id, limits: own })
  if (project?.limits !== undefined) parties.push({ kind: 'project', id: project.id, limits: project.limits })
  if (member !== undefined) parties.push({ kind: 'member', id: member.id, limits: member.limits })
  return parties
}

/** The limit of a sum that only soft budgets use: never reached. */
const unlimited = Number.MAX_SAFE_INTEGER

/**
 * Lists the accounts of parties in the order they are checked: sums first, because waiting does not help
 * there.
 */
export function limitAccountsOf (parties: readonly Party[], countsBudgets = true): Account[] {
  const accounts: Account[] = []
  for (const { kind, id, limits } of parties) {
    const party: PartyRef = { kind, id }
    for (const { window, budget, soft } of countsBudgets ? byWindow(budgetsIn(limits)) : []) {
      accounts.push({
        party, counting: 'sum', unit: 'nanoUsd', limitName: 'budget', name: 'budget',
        window, max: budget === undefined ? unlimited : nanoUsdOf(budget),
        strict: budget !== undefined && (limits.strict ?? true),
        ...budget !== undefined && { budget },
        ...soft.length > 0 && { soft }
      })
    }
    const others: Account[] = []
    for (const { name: limitName, property, row, perUnit } of limitFields) {
      const limit = limits[property]
      if (limit === undefined) continue
      const { unit } = row
      const max = limit * perUnit
      if (row.counting !== 'sum')
        others.push({ party, counting: row.counting, unit, limitName, max })
      else {
        accounts.push({
          party, counting: 'sum', unit, limitName, name: row.refusal, max,
          window: { per: row.per }, strict: false
        })
      }
    }
    accounts.push(...others)
  }
  return accounts
}

/** Converts an amount to the unit of its limit: accounts count audio in milliseconds, limits in seconds. */
export function inLimitUnit ({ unit }: Pick<Account, 'unit'>, amount: number): number {
  return amount / perUnitOf(unit)
}

/** A budget and the party it belongs to. */
export interface PartyBudget {
  readonly party: PartyRef
  readonly budget: Budget
}

export function budgetsOfParties (parties: readonly Party[]): PartyBudget[] {
  return parties.flatMap(({ kind, id, limits }) => (
    budgetsIn(limits).map(budget => ({ party: { kind, id }, budget }))
  ))
}

/** Lists the budgets of limits. */
export function budgetsIn ({
  budget,
  budgets = []
}: Pick<PartyLimits, 'budget' | 'budgets'>): readonly Budget[] {
  return budget === undefined ? budgets : [budget, ...budgets]
}

interface WindowBudgets {
  readonly window: Window
  /** The lowest budget that refuses calls. */
  readonly budget: Budget | undefined
  readonly soft: readonly Budget[]
}

/** Groups budgets by window, so that each sum is counted once. */
function byWindow (budgets: readonly Budget[]): WindowBudgets[] {
  const windows = new Map<string, WindowBudgets>()
  for (const budget of budgets) {
    const window = windowOfBudget(budget)
    const name = windowName(window)
    const { budget: lowest, soft } = windows.get(name) ?? { budget: undefined, soft: [] }
    if (budget.soft === true) windows.set(name, { window, budget: lowest, soft: [...soft, budget] })
    else if (lowest === undefined || budget.usd < lowest.usd) windows.set(name, { window, budget, soft })
  }
  return [...windows.values()]
}

/**
 * Returns true for a unit that is billed instead of tokens. A call that uses none of it passes the limit even
 * when the limit is used up.
 */
export function isNonTokenUnit (unit: Unit): unit is NonTokenColumn {
  return recordedNonTokenUnits.some(({ column }) => column === unit)
}

/** Returns true for a unit of which a call takes one at admission, and more only when it ends. */
export function isPerCall (unit: string): unit is 'requests' | 'calls' {
  return unit === 'requests' || unit === 'calls'
}

/** Keeps the limits that depend on usage; the others were checked at admission. */
export function usageLimits (limits: PartyLimits): PartyLimits {
  const kept: { -readonly [Name in keyof PartyLimits]: PartyLimits[Name] } = { ...limits }
  for (const { property, row } of limitFields) if (isPerCall(row.unit)) delete kept[property]
  return kept
}
