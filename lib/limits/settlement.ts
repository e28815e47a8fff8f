/** What a call has used, and how that changes its accounts once it has ended. */

import { recordedNonTokenUnits, type NonTokenColumn } from '../../schemas/billed-units.ts'
import {
  limitAccountsOf,
  limitedParties,
  type Account,
  type RateOrConcurrencyAccount,
  type Unit
} from './call-accounts.ts'
import { isPerCall } from './limit-table.ts'
import type { ApiKey, PartyLimits } from '../core/key.ts'
import type { NamedBudgets } from './named-budgets.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Identifies a usage row in the store. */
export interface UsageRowKey {
  readonly id: string
  readonly atMs: number
}

/** The actual usage of a call. */
export interface ActualUsage {
  /** Used amount of each unit; for requests, those beyond the reserved one. Absent units are 0. */
  readonly used: Readonly<Partial<Record<Unit, number>>>
  /** The call's usage row, which is stored soon. */
  readonly row?: UsageRowKey
}

/** The usage in a stored row, with the accounts that the call counted in. */
export interface RecordedUsage extends ActualUsage {
  readonly accounts: readonly Account[]
  readonly row: UsageRowKey
}

/** Cancels a reservation and refunds its request. */
export const cancelledUsage: ActualUsage = { used: { requests: -1 } }

/** Returns how a settlement changes a rate or the number of open calls. */
export function settledChange (
  { counting, unit }: Account,
  reserved: number,
  used: ActualUsage['used']
): number {
  if (counting === 'open') return -reserved
  return isPerCall(unit) ? used[unit] ?? 0 : (used[unit] ?? 0) - reserved
}

/** Returns the refund for a call whose process exited: the request count is kept. */
export function releasedChange ({ counting, unit }: RateOrConcurrencyAccount, reserved: number): number {
  return counting === 'rate' && isPerCall(unit) ? 0 : -reserved
}

/**
 * Returns the usage in a row by unit. The first request was counted at reservation, and an ended call is not
 * open.
 */
export function usedIn (row: UsageRow): Record<Unit, number> {
  return {
    requests: Math.max(0, row.attempts - 1),
    tokens: (row.prompt_tokens ?? 0) + (row.completion_tokens ?? 0),
    calls: 0,
    nanoUsd: row.cost_nano_usd ?? 0,
    ...(Object.fromEntries(
      recordedNonTokenUnits.map(({ column }) => [column, row[column] ?? 0])
    ) as Record<NonTokenColumn, number>)
  }
}

/** Returns the usage in rows, with the accounts the calls counted in. Calls of deleted keys are left out. */
export function recordedUsages (
  rows: readonly UsageRow[],
  find: (keyId: string) => ApiKey | undefined,
  defaultLimits: PartyLimits | undefined,
  named?: Pick<NamedBudgets, 'partiesOfRow'>
): RecordedUsage[] {
  return rows.flatMap(row => {
    const key = find(row.key_id)
    if (key === undefined) return []
    const others = named?.partiesOfRow(row.parties) ?? []
    const accounts = limitAccountsOf([...limitedParties(key, defaultLimits), ...others])
    return [{ row: { id: row.id, atMs: row.at_ms }, used: usedIn(row), accounts }]
  })
}
