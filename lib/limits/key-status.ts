/** Tells the holder of a key its limits, and what is left of them. */

import { steadyNow } from '../async/steady-clock.ts'
import { accountsOf, type Account, type Party } from './call-accounts.ts'
import { limitFields } from './limit-table.ts'
import { periodOf } from './windows.ts'
import type { Limiter } from './limiter.ts'
import type { LimitStatus } from '../../schemas/key-status.ts'

/**
 * Describes each limit of parties, in their order. What is used is read where calls are counted, by a
 * reservation that takes nothing.
 *
 * @param hidesCost true where amounts of money that were used are not to be seen
 * @throws what `limiter.reserve` throws
 */
export async function limitStatuses (
  limiter: Limiter,
  parties: readonly Party[],
  hidesCost: boolean
): Promise<LimitStatus[]> {
  return await Promise.all(
    accountsOf(parties).map(async account => await statusOf(limiter, account, hidesCost))
  )
}

async function statusOf (limiter: Limiter, account: Account, hidesCost: boolean): Promise<LimitStatus> {
  const decision = await limiter.reserve({ accounts: [account], wanted: {}, alreadyAdmitted: true })
  if (decision.admitted) limiter.settle(decision.reservation, { used: {} })
  const { unit, counting, party, partyId, amount } = account
  const parts = unit === 'nanoUsd' ? 1e9 : 1
  const named = { of: party, id: partyId, name: nameOf(account), limit: amount / parts }
  switch (counting) {
    case 'open': return { ...named, remaining: null, resets_at: null, window: null }
    case 'rate': {
      const { remaining = null, resetMs } = decision.rateLimits[unit] ?? {}
      const resetsAt = resetMs === undefined ? null : secondsOf(steadyNow() + resetMs)
      return { ...named, remaining, resets_at: resetsAt, window: null }
    }
    case 'sum': {
      const [used] = decision.used
      const isHidden = used === undefined || (hidesCost && unit === 'nanoUsd')
      const { endMs } = periodOf(account.window, steadyNow())
      return {
        ...named,
        remaining: isHidden ? null : Math.max(0, amount - used) / parts,
        resets_at: endMs === Infinity ? null : secondsOf(endMs),
        window: account.budget?.every ?? ('per' in account.window ? account.window.per : null)
      }
    }
  }
  return counting satisfies never
}

function nameOf ({ unit, counting }: Account): LimitStatus['name'] {
  return limitFields.find(({ row }) => row.unit === unit && row.counting === counting)?.name ?? 'budget'
}

function secondsOf (ms: number): number {
  return Math.ceil(ms / 1000)
}
