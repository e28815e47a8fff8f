/** Tells the holder of a key its limits and how much of them is left. */

import { steadyNow } from '../async/steady-clock.ts'
import { nanoUsdOf } from '../core/key.ts'
import { limitAccountsOf, inLimitUnit, type Account, type Party } from './call-accounts.ts'
import { periodAt, type Window } from './windows.ts'
import type { Limiter } from './limiter.ts'
import type { LimitStatus } from '../../schemas/key-status.ts'

/**
 * Describes each limit of parties, in order, with current usage from the limiter.
 *
 * @param hidesCost true to leave out used amounts of money
 * @throws what `limiter.reserve` throws
 */
export async function limitStatuses (
  limiter: Limiter,
  parties: readonly Party[],
  hidesCost: boolean
): Promise<LimitStatus[]> {
  const statuses = await Promise.all(
    limitAccountsOf(parties).map(async account => await statusesOf(limiter, account, hidesCost))
  )
  return statuses.flat()
}

async function statusesOf (
  limiter: Limiter,
  account: Account,
  hidesCost: boolean
): Promise<LimitStatus[]> {
  const decision = await limiter.reserve({ accounts: [account], wanted: {}, purpose: 'describe' })
  const { unit, counting, party, max } = account
  const limit = inLimitUnit(account, max)
  const named = { of: party.kind, id: party.id, name: account.limitName, limit, soft: false }
  switch (counting) {
    case 'open': return [{ ...named, remaining: null, resets_at: null, window: null }]
    case 'rate': {
      const { remaining: left, resetMs } = decision.rateLimits[unit] ?? {}
      const remaining = left === undefined ? null : inLimitUnit(account, left)
      const resetsAt = resetMs === undefined ? null : secondsOf(steadyNow() + resetMs)
      return [{ ...named, remaining, resets_at: resetsAt, window: null }]
    }
    case 'sum': {
      const [used] = decision.used
      const { window, budget, soft = [] } = account
      const { endMs } = periodAt(window, steadyNow())
      const resetsAt = endMs === Infinity ? null : secondsOf(endMs)
      if (unit !== 'nanoUsd') {
        const remaining = used === undefined ? null : inLimitUnit(account, Math.max(0, max - used))
        return [{ ...named, remaining, resets_at: resetsAt, window: lengthOf(window) }]
      }
      return [...budget === undefined ? [] : [budget], ...soft].map(each => ({
        ...named,
        limit: each.usd,
        soft: each.soft === true,
        remaining: used === undefined || hidesCost ? null : Math.max(0, nanoUsdOf(each) - used) / 1e9,
        resets_at: resetsAt,
        window: each.every ?? lengthOf(window)
      }))
    }
  }
  return counting satisfies never
}

function lengthOf (window: Window): string | null {
  return 'per' in window ? window.per : null
}

function secondsOf (ms: number): number {
  return Math.ceil(ms / 1000)
}
