import { GatewayError } from '../core/errors.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { budgetText, type Budget } from '../core/key.ts'
import {
  countedLimits,
  type CountedLimit,
  type CountedLimitName
} from '../../schemas/config/counted-limits.ts'
import { inLimitUnit, partyText, type Account, type PartyKind } from './call-accounts.ts'
import type { AccountRefusal } from './reservation.ts'

/** Longest `retry-after` of a refusal, in seconds. */
const maxRetrySeconds = 60

/** Request parameters that name a party. */
const params: Readonly<Partial<Record<PartyKind, string>>> = { end_user: 'user', model: 'model' }

/** Returns the error for a refusal: which limit refuses the call, and when to retry. */
export function refusalError (
  { accountIndex, reason, waitMs, endMs }: AccountRefusal,
  accounts: readonly Account[]
): GatewayError {
  const account = accounts[accountIndex] as Account // the limiter returns an index of its input
  const name = partyText(account.party)
  const param = params[account.party.kind]
  const retryAfterSeconds = Math.min(maxRetrySeconds, Math.max(1, Math.ceil(waitMs / 1000)))
  if (reason === 'budget_unread') {
    return new GatewayError('overloaded', {
      ...param !== undefined && { param },
      message: `The spending of ${name} cannot be read at the moment. Try again later.`,
      retryAfterSeconds
    })
  }
  if (account.counting !== 'sum') {
    const { note }: CountedLimit = countedLimits[account.limitName]
    return new GatewayError('rate_limit_exceeded', {
      message: `${allowanceText(account, account.limitName)}${note === undefined ? '' : ` ${note}`}`,
      retryAfterSeconds
    })
  }
  const untilEnd = endMs === undefined ? undefined : Math.max(1, Math.ceil((endMs - steadyNow()) / 1000))
  if (account.limitName !== 'budget') {
    return new GatewayError('rate_limit_exceeded', {
      message: allowanceText(account, account.limitName),
      retryAfterSeconds:
        waitMs > 0 ? retryAfterSeconds : Math.min(maxRetrySeconds, untilEnd ?? maxRetrySeconds)
    })
  }
  // Soft budgets refuse nothing.
  const budget = `budget of ${name} (${budgetText(account.budget as Budget)})`
  if (reason === 'budget_reserved') {
    return new GatewayError('rate_limit_exceeded', {
      ...param !== undefined && { param },
      message: `The rest of the ${budget} is reserved by calls in progress. Try again later.`,
      retryAfterSeconds
    })
  }
  const message =
    reason === 'budget'
      ? `The ${budget} is exhausted.`
      : `The remaining ${budget} is too small for this call.`
  return new GatewayError('insufficient_quota', {
    ...param !== undefined && { param },
    message,
    ...untilEnd !== undefined && untilEnd <= maxRetrySeconds && { retryAfterSeconds: untilEnd }
  })
}

/** Describes a limit: "This API key allows 1 image per day, in UTC." */
function allowanceText (account: Account, limit: CountedLimitName): string {
  const amount = inLimitUnit(account, account.max)
  const { allows, allowsOne } = countedLimits[limit]
  return `${capitalised(partyText(account.party))} allows ${amount} ${amount === 1 ? allowsOne : allows}.`
}

function capitalised (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
