/** Whether a key may use that much now. */

import { GatewayError } from '../core/errors.ts'
import { budgetText, limitsOnUse, type KeyLimits } from '../core/key.ts'
import { rateLimitHeaders, refusalHeaders } from '../limits/headers.ts'
import { pause } from '../async/pause.ts'
import { map, type SameStage } from '../core/stage.ts'
import { costOf } from '../usage/cost.ts'
import type { AuthedCall, RoutedCall } from '../core/call.ts'
import type { TokenEstimate } from '../limits/estimate.ts'
import type { Verdict } from '../limits/counters.ts'
import type { Services } from '../services.ts'

export interface LimitsOptions<R> {
  /** Estimates the tokens of a request. Default: none are reserved. */
  readonly estimate?: (request: R) => TokenEstimate
  /** Waits for capacity instead of refusing: for calls without a waiting caller. */
  readonly patient?: boolean
}

/** A call that is patient looks this often: what others have set aside may be given back at any time. */
const longestPauseMs = 1000

/**
 * One call in, the same call out, with what it may use set aside. What it did use is settled with
 * its record, when it has ended, however that was (`gateway`). Calls of keys without limits pass.
 *
 * @throws GatewayError `rate_limit_exceeded`, with the time after which it is worth another try;
 *   `insufficient_quota` when the budget is used up
 */
export function limits<R = unknown> (
  { limiter, models, settings }: Pick<Services, 'limiter' | 'models' | 'settings'>,
  { estimate, patient = false }: LimitsOptions<R> = {}
): SameStage<RoutedCall<R>> {
  const waits = ({ reason }: Refused): boolean => patient && reason !== 'budget'
  const reserve = async <C extends RoutedCall<R>>(call: C, limits: KeyLimits): Promise<C> => {
    const { key, record, request, routes } = call
    const usage = estimate?.(request) ?? { prompt: 0, completion: 0 }
    const tokens = usage.prompt + usage.completion
    const maxCost = (): number => Math.max(0, ...routes.map(({ modelId }) => (
      costOf({ promptTokens: usage.prompt, completionTokens: usage.completion, totalTokens: tokens }, models.find(modelId)?.price) ?? 0
    )))
    const nanoUsd = limits.budget === undefined || record.ownProviderKey === true ? 0 : maxCost()
    const wanted = { keyId: key.id, limits, tokens, nanoUsd }
    let verdict = await limiter.reserve(wanted)
    while (!verdict.admitted && waits(verdict)) {
      await pause(Math.min(verdict.waitMs, longestPauseMs), call.signal)
      verdict = await limiter.reserve(wanted)
    }
    record.limitHeaders = verdict.admitted ? rateLimitHeaders(verdict.rooms) : refusalHeaders(verdict, limits)
    if (!verdict.admitted) {
      record.refusedBy = verdict.reason
      throw refusal(verdict, limits)
    }
    record.reservation = verdict.reservation
    return call
  }
  return map(<C extends RoutedCall<R>>(call: C): C | Promise<C> => {
    const { key, record, request } = call
    if (estimate !== undefined) record.countPrompt = () => estimate(request).prompt
    const limits = key.limits ?? settings.limits.defaultKey
    return limits === undefined ? call : reserve(call, limits)
  })
}

/**
 * One call in, the same call out, and what it turns out to have used counts. It is let through in any
 * case: its provider does now what an earlier call was let in for.
 */
export function countUse ({ limiter, settings }: Pick<Services, 'limiter' | 'settings'>): SameStage<AuthedCall> {
  const reserve = async <C extends AuthedCall>(call: C, limits: KeyLimits): Promise<C> => {
    const verdict = await limiter.reserve({ keyId: call.key.id, limits: limitsOnUse(limits), tokens: 0, nanoUsd: 0, alreadyAdmitted: true })
    if (verdict.admitted) call.record.reservation = verdict.reservation
    return call
  }
  return map(<C extends AuthedCall>(call: C): C | Promise<C> => {
    const limits = call.key.limits ?? settings.limits.defaultKey
    return limits === undefined ? call : reserve(call, limits)
  })
}

type Refused = Extract<Verdict, { readonly admitted: false }>

function refusal ({ reason, waitMs }: Refused, limits: KeyLimits): GatewayError {
  const { requestsPerMinute, tokensPerMinute, concurrentCalls, budget = { usd: 0, per: 'total' } } = limits
  const retryAfterSeconds = Math.min(60, Math.max(1, Math.ceil(waitMs / 1000)))
  const tooMuch = (message: string): GatewayError => new GatewayError('rate_limit_exceeded', { message, retryAfterSeconds })
  switch (reason) {
    case 'requests': return tooMuch(`This API key allows ${requestsPerMinute} requests per minute.`)
    case 'tokens': return tooMuch(`This API key allows ${tokensPerMinute} tokens per minute.`)
    case 'calls': return tooMuch(`This API key allows ${concurrentCalls} concurrent calls.`)
    case 'reserved': return tooMuch(`Open calls may exhaust the budget of this API key (${budgetText(budget)}).`)
    case 'budget': return new GatewayError('insufficient_quota', {
      message: `The budget of this API key (${budgetText(budget)}) is exhausted, or too small for this call.`
    })
  }
}
