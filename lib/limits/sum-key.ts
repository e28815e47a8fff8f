/** Names the sums that calls count in. */

import { partyName, sumAccountsOf, type Account, type SumAccount, type Unit } from './call-accounts.ts'
import { periodOf, type Period } from './windows.ts'

/** The sum of one party, unit and period. */
export interface SumKey {
  /** Unique among all sums. */
  readonly name: string
  readonly party: string
  readonly unit: Unit
  readonly period: Period
}

/** Returns the sum of a party, a unit and a period. The party, which may be any text, ends its name. */
export function sumKey (party: string, unit: Unit, period: Period): SumKey {
  return { name: `${unit} ${period.name} ${period.fromMs} ${party}`, party, unit, period }
}

/** Returns the sum that an account counts in at a moment, in Unix milliseconds. */
export function sumKeyOf (account: SumAccount, nowMs: number): SumKey {
  return sumKey(partyName(account), account.unit, periodOf(account.window, nowMs))
}

/** Lists the sums that a call counts in at a moment, in Unix milliseconds. */
export function sumKeysOf (accounts: readonly Account[], nowMs: number): SumKey[] {
  return sumAccountsOf(accounts).map(account => sumKeyOf(account, nowMs))
}
