/** Reserves what a call may use of the limits of its key. */

import { GatewayError } from '../core/errors.ts'
import { budgetText, limitsWithoutBudget, usageLimits, type ApiKey, type KeyLimits } from '../core/key.ts'
import type { CallRecord, RecordedEstimate } from '../core/record.ts'
import { rateLimitHeaders, refusalHeaders } from '../limits/headers.ts'
import { abortable } from '../async/abortable.ts'
import { sleep } from '../async/sleep.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { maxCompletionOf, maxCostOf, pricedRoutes } from '../limits/prices.ts'
import type { Route } from '../core/route.ts'
import type { EstimatedUnits } from '../core/usage.ts'
import type { AuthedCall, RoutedCall } from '../core/call.ts'
import type { CallSignal } from '../core/call-signal.ts'
import { answerTokens, type Estimate, type EstimateRequest } from '../limits/estimate.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { LimitDecision, ReservationRequest } from '../limits/counters.ts'
import type { Services } from '../services.ts'

export interface LimitsOptions<R> {
  /** Estimates what a request may use. Default: nothing is reserved. */
  readonly estimate?: EstimateRequest<R>
  /** Waits for capacity instead of refusing: for calls without a waiting caller. */
  readonly waitForCapacity?: boolean
}

/** Milliseconds between two tries of a call that waits: reservations of others may end at any time. */
const maxPauseMs = 1000

/**
 * Admits calls: one in, the same call out, with what it may use reserved; its actual usage is settled when it
 * has ended (`usage/call-recorder`). Calls of keys without limits pass.
 *
 * A key with a budget uses priced models only, and unless `strict` is false its call gets what is left of the
 * budget or the most it can cost, whichever is less: `capAnswer` keeps it within that.
 *
 * @throws GatewayError `rate_limit_exceeded`, with the time after which to try again;
 *   `insufficient_quota` when the budget is used up; `insufficient_permissions` for a model without a price
 */
export function limits<R = unknown> (
  { limiter, models, settings }: Pick<Services, 'limiter' | 'models' | 'settings'>,
  { estimate, waitForCapacity = false }: LimitsOptions<R> = {}
): PassThroughStage<RoutedCall<R>> {
  const waits = (decision: LimitDecision): decision is Refused => !decision.admitted && waitForCapacity && decision.reason !== 'budget' && decision.reason !== 'budget_too_small'
  const reserve = <C extends RoutedCall<R>>(call: C, tokens: Estimate, { id, name, limits: given, note }: LimitedParty): C | Promise<C> => {
    const { record } = call
    const limits = record.ownProviderKey === true && given.budget !== undefined ? limitsWithoutBudget(given) : given
    const { budget } = limits
    const routes = budget === undefined ? call.routes : pricedRoutes(call, models, budget, tokens)
    const { nanoUsd, minNanoUsd } = budget === undefined ? noAmounts : amountsOf(tokens, routes, limits.strict ?? true)
    const wanted = { keyId: id, limits, tokens: tokens.units === undefined ? tokens.prompt + tokens.completion : 0, nanoUsd, minNanoUsd }
    const admit = (decision: LimitDecision): C => {
      record.limitHeaders = decision.admitted ? Object.assign(rateLimitHeaders(decision.rateLimits), record.limitHeaders) : refusalHeaders(decision, limits)
      if (!decision.admitted) {
        record.refusedBy = decision.reason
        throw refusal(decision, limits, name)
      }
      note(record, decision.reservation)
      if (budget !== undefined) record.reservedNanoUsd ??= decision.nanoUsd
      if (minNanoUsd !== undefined) record.maxCostNanoUsd = Math.min(record.maxCostNanoUsd ?? Infinity, decision.nanoUsd)
      return routes.length === call.routes.length ? call : { ...call, routes }
    }
    const decision = limiter.reserve(wanted)
    // Without a promise where this process decides: most do.
    return decision instanceof Promise || waits(decision) ? reserveLater(wanted, decision, call.signal).then(admit) : admit(decision)
  }
  const reserveLater = async (wanted: ReservationRequest, first: LimitDecision | Promise<LimitDecision>, signal: CallSignal): Promise<LimitDecision> => {
    let decision = await untilAborted(limiter, first, signal)
    while (waits(decision)) {
      await sleep(Math.min(decision.waitMs, maxPauseMs), signal)
      decision = await untilAborted(limiter, limiter.reserve(wanted), signal)
    }
    return decision
  }
  /** Returns what a call wants of a budget; with `strict` the most it can cost, and the least that is of use. */
  const amountsOf = (tokens: Estimate, routes: readonly Route[], strict: boolean): Pick<ReservationRequest, 'nanoUsd' | 'minNanoUsd'> => {
    const { prompt, maxPrompt = prompt, completion, minCompletion = 0, answers = 1, choices = 1, units, writesCache, searches = 0 } = tokens
    if (!strict || estimate === undefined) return { nanoUsd: maxCostOf(routes, models, { prompt, completion, units, writesCache }) }
    const { maxUnits = units, minUnits = maxUnits } = tokens
    const maxCompletion = maxCompletionOf(tokens, routes, models, settings.limits.defaultMaxTokens)
    return {
      nanoUsd: maxCostOf(routes, models, { prompt: maxPrompt * answers, completion: maxCompletion, units: maxUnits, writesCache, searches: searches * answers }),
      minNanoUsd: maxCostOf(routes, models, { prompt: maxPrompt * choices, completion: minCompletion * choices, units: minUnits, writesCache, searches })
    }
  }
  return map(<C extends RoutedCall<R>>(call: C): C | Promise<C> => {
    const { key, record } = call
    const estimated = new RequestEstimate(call, estimate)
    if (estimate !== undefined) record.estimate = estimated
    const [first, second] = limitedParties(key, settings.limits.defaultKeyLimits)
    if (first === undefined) return call
    const admitted = reserve(call, estimated.made, first)
    if (second === undefined) return admitted
    return admitted instanceof Promise ? admitted.then(admitted => reserve(admitted, estimated.made, second)) : reserve(admitted, estimated.made, second)
  })
}

/** A key or a project with limits. What was reserved is settled when the call has ended, also where the other one refuses. */
interface LimitedParty {
  readonly id: string
  /** For messages. */
  readonly name: 'API key' | 'project'
  readonly limits: KeyLimits
  readonly note: (record: CallRecord, reservation: number) => void
}

/** Lists whose limits hold for a key: its own, and those that all keys of its project share. */
function limitedParties ({ id, limits, project }: ApiKey, defaultLimits: KeyLimits | undefined): LimitedParty[] {
  const parties: LimitedParty[] = []
  const own = limits ?? defaultLimits
  if (own !== undefined) parties.push({ id, name: 'API key', limits: own, note: noteReservation })
  if (project?.limits !== undefined) parties.push({ id: project.id, name: 'project', limits: project.limits, note: noteProjectReservation })
  return parties
}

function noteReservation (record: CallRecord, reservation: number): void {
  record.reservation = reservation
}

function noteProjectReservation (record: CallRecord, reservation: number): void {
  record.projectReservation = reservation
}

/** Waits for a decision on a call that may end while another process decides: what is reserved for it then is released. */
async function untilAborted (limiter: Limiter, decision: LimitDecision | Promise<LimitDecision>, signal: CallSignal): Promise<LimitDecision> {
  if (!(decision instanceof Promise)) return decision
  try {
    return await abortable(decision, signal)
  } catch (error) {
    decision.then(late => { if (late.admitted) limiter.settle(late.reservation, { tokens: 0, nanoUsd: 0 }) }, () => { /* nothing is reserved */ })
    throw error
  }
}

const noTokens: Estimate = { prompt: 0, completion: 0 }
const noAmounts: Pick<ReservationRequest, 'nanoUsd' | 'minNanoUsd'> = { nanoUsd: 0 }

/** The estimate of one request, made once for all who ask: it reads every text of the request, which of the largest takes 8 ms. */
class RequestEstimate<R> implements RecordedEstimate {
  readonly #estimate: EstimateRequest<R> | undefined
  /** Until the estimate is made. */
  #request: R | undefined
  readonly #routes: readonly Route[]
  #made: Estimate | undefined

  constructor ({ request, routes }: RoutedCall<R>, estimate: EstimateRequest<R> | undefined) {
    this.#request = request
    this.#routes = routes
    this.#estimate = estimate
  }

  get made (): Estimate {
    if (this.#made === undefined) {
      this.#made = this.#estimate?.(this.#request as R, this.#routes) ?? noTokens // of the request: it is there until now
      this.#request = undefined
    }
    return this.#made
  }

  countPrompt (): number | undefined {
    const { prompt, units } = this.made
    return units === undefined ? prompt : undefined
  }

  countAnswer (): number {
    const { completion, choices = 1 } = this.made
    return Math.min(completion, choices * answerTokens)
  }

  estimateUnits (): EstimatedUnits | undefined {
    const { units, prompt, completion } = this.made
    return units && { ...units, promptTokens: prompt, completionTokens: completion }
  }
}

/**
 * Counts use: one call in, the same call out, and what it turns out to have used counts. It passes
 * in any case: its provider does now what an earlier call was admitted for.
 */
export function countOnly ({ limiter, settings }: Pick<Services, 'limiter' | 'settings'>): PassThroughStage<AuthedCall> {
  const reserve = async <C extends AuthedCall>(call: C, parties: readonly LimitedParty[]): Promise<C> => {
    for (const { id, limits, note } of parties) {
      const wanted = { keyId: id, limits: usageLimits(limits), tokens: 0, nanoUsd: 0, alreadyAdmitted: true }
      const decision = await untilAborted(limiter, limiter.reserve(wanted), call.signal)
      if (decision.admitted) note(call.record, decision.reservation)
    }
    return call
  }
  return map(<C extends AuthedCall>(call: C): C | Promise<C> => {
    const parties = limitedParties(call.key, settings.limits.defaultKeyLimits)
    return parties.length === 0 ? call : reserve(call, parties)
  })
}

type Refused = Extract<LimitDecision, { readonly admitted: false }>

function refusal ({ reason, waitMs }: Refused, limits: KeyLimits, name: LimitedParty['name']): GatewayError {
  const { requestsPerMinute, tokensPerMinute, concurrentCalls, budget = { usd: 0, per: 'total' } } = limits
  const retryAfterSeconds = Math.min(60, Math.max(1, Math.ceil(waitMs / 1000)))
  const tooMuch = (message: string): GatewayError => new GatewayError('rate_limit_exceeded', { message, retryAfterSeconds })
  switch (reason) {
    case 'requests': return tooMuch(`This ${name} allows ${requestsPerMinute} requests to providers per minute. Further attempts and turns of a call count too.`)
    case 'tokens': return tooMuch(`This ${name} allows ${tokensPerMinute} tokens per minute.`)
    case 'concurrent_calls': return tooMuch(`This ${name} allows ${concurrentCalls} concurrent calls.`)
    case 'budget_reserved': return tooMuch(`Open calls may exhaust the budget of this ${name} (${budgetText(budget)}).`)
    case 'budget': return new GatewayError('insufficient_quota', { message: `The budget of this ${name} (${budgetText(budget)}) is exhausted.` })
    case 'budget_too_small': return new GatewayError('insufficient_quota', {
      message: `What is left of the budget of this ${name} (${budgetText(budget)}) is too small for this call.`
    })
  }
}
