import { limitAccountsOf, limitedParties, usageLimits, type Party } from '../limits/call-accounts.ts'
import { awaitDecision } from '../limits/limiter.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import type { AuthedCall } from '../core/call.ts'
import type { Services } from '../services.ts'

/**
 * Counts usage without refusing: one call in, the same call out. For calls that fetch the result of an
 * admitted call.
 */
export function countOnly ({
  limiter,
  settings
}: Pick<Services, 'limiter' | 'settings'>): PassThroughStage<AuthedCall> {
  const count = async <C extends AuthedCall>(call: C, parties: readonly Party[]): Promise<C> => {
    const accounts = limitAccountsOf(parties.map(party => ({ ...party, limits: usageLimits(party.limits) })))
    const decision = await awaitDecision(
      limiter,
      limiter.reserve({ accounts, wanted: {}, purpose: 'count' }),
      call.signal
    )
    // always admitted: no limit refuses what is only counted
    if (decision.admitted) call.record.limits.reservation = decision.reservation
    return call
  }
  return map(<C extends AuthedCall>(call: C): C | Promise<C> => {
    const parties = limitedParties(call.key, settings.limits.defaultKeyLimits)
    return parties.length === 0 ? call : count(call, parties)
  })
}
