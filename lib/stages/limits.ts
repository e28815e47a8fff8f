/**
 * Reserves what a call may use in every limit that applies to it: those of its key, project, member, tags,
 * models and end user. Strict budgets reserve the most that it may cost.
 */

import { steadyNow } from '../async/steady-clock.ts'
import { sleep } from '../async/sleep.ts'
import { budgetText, nanoUsdOf } from '../core/key.ts'
import { limitedParties, type Party, type SumAccount } from '../limits/call-accounts.ts'
import { counterName } from '../limits/sum-keys.ts'
import { budgetLeftHeader, usdText, rateLimitHeaders, refusalHeaders } from '../limits/headers.ts'
import { refusalError } from '../limits/refusal-error.ts'
import { RequestEstimate, type Estimator } from '../limits/estimate.ts'
import { planReservation, type ReservationPlan } from '../limits/reservation-plan.ts'
import { awaitDecision } from '../limits/limiter.ts'
import type { LimitDecision, RefusedDecision, ReservationRequest } from '../limits/reservation.ts'
import { periodAt } from '../limits/windows.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { spendingOn } from '../guards/text-guards.ts'
import type { CallSignal, RoutedCall } from '../core/call.ts'
import type { ExceededBudget } from '../core/record.ts'
import type { Services } from '../services.ts'

export interface LimitsOptions<R> {
  /** Estimates the usage of a request. Default: no tokens and no money are reserved. */
  readonly estimate?: Estimator<R>
  /** True to wait for capacity instead of refusing: for calls without a waiting caller. */
  readonly waitForCapacity?: boolean
  /**
   * Reserves only one request and what guards may spend on models, and skips calls without such
   * guards: for endpoints that cost nothing themselves. Default: false.
   */
  readonly onlyGuardCosts?: boolean
}

type LimitsServices =
  Pick<Services, 'limiter' | 'models' | 'settings' | 'textGuards' | 'namedBudgets'>

/**
 * Milliseconds between two tries of a waiting call: other calls may release their reservations at any time.
 */
const maxPauseMs = 1000

/**
 * Admits calls: one in, one out, possibly with fewer routes. Usage is reserved here and settled when the
 * call has ended (`gateway/usage-recorder`). Calls without limits pass.
 *
 * A call with a budget uses priced models only. Unless `strict` is false, it is granted its maximum cost or
 * the rest of the budget, whichever is less; `capAnswer` keeps the answer within that.
 *
 * @throws GatewayError `rate_limit_exceeded`, with the time after which to try again; `insufficient_quota`
 *   when the budget is used up; `insufficient_permissions` for a model without a price
 */
export function limits<R = unknown> (
  services: LimitsServices,
  options: LimitsOptions<R> = {}
): PassThroughStage<RoutedCall<R>> {
  const callLimits = new CallLimits(services, options)
  return map(call => callLimits.admit(call))
}

class CallLimits<R> {
  readonly #services: LimitsServices
  readonly #options: LimitsOptions<R>

  constructor (services: LimitsServices, options: LimitsOptions<R>) {
    this.#services = services
    this.#options = options
  }

  admit<C extends RoutedCall<R>> (call: C): C | Promise<C> {
    const { models, settings, namedBudgets, textGuards } = this.#services
    const { estimate, onlyGuardCosts = false } = this.#options
    call.record.cost.models = models
    if (onlyGuardCosts && textGuards === undefined) return call
    const estimated = new RequestEstimate(call, estimate)
    if (estimate !== undefined && !onlyGuardCosts) call.record.usage.estimate = estimated
    const own = limitedParties(call.key, settings.limits.defaultKeyLimits)
    const named = namedBudgets?.partiesOf(call, steadyNow(), { mayBeAnonymous: onlyGuardCosts }) ?? []
    return named instanceof Promise
      ? named.then(found => this.#reserve(call, estimated, own, found))
      : this.#reserve(call, estimated, own, named)
  }

  /** @param named the parties that the call names */
  #reserve<C extends RoutedCall<R>> (
    call: C,
    estimated: RequestEstimate<R>,
    own: readonly Party[],
    named: readonly Party[]
  ): C | Promise<C> {
    const parties = [...own, ...named]
    if (parties.length === 0) return call
    const { models, settings, limiter, textGuards } = this.#services
    const { estimate, onlyGuardCosts = false } = this.#options
    const spending = textGuards === undefined ? [] : spendingOn(textGuards, call)
    if (onlyGuardCosts && spending.length === 0) return call
    if (named.length > 0) {
      call.record.caller.parties = named.map(counterName)
    }
    const plan = planReservation(call, estimated.value, parties, spending, {
      models, settings, isEstimated: estimate !== undefined, onlyGuardCosts
    })
    const decision = limiter.reserve(plan.request)
    // Usually this process decides by itself, without a promise.
    return decision instanceof Promise || this.#waits(decision)
      ? this.#reserveLater(plan.request, decision, call.signal)
        .then(later => this.#applyDecision(call, estimated, plan, later))
      : this.#applyDecision(call, estimated, plan, decision)
  }

  /**
   * Adds a decision to the record.
   *
   * @throws GatewayError for a refusal
   */
  #applyDecision<C extends RoutedCall<R>> (
    call: C,
    estimated: RequestEstimate<R>,
    { request: { accounts, wanted }, sums, budgets, isStrict, mediaTokens, routes }: ReservationPlan<R>,
    decision: LimitDecision
  ): C {
    const { record } = call
    record.limits.headers = decision.admitted
      ? rateLimitHeaders(decision.rateLimits)
      : refusalHeaders(decision, accounts)
    const left = record.cost.isHidden || budgets.length === 0 ? undefined : budgetLeft(sums, decision.used)
    if (left !== undefined) {
      record.limits.budgetLeftNanoUsd = left
      record.limits.headers = { ...record.limits.headers, [budgetLeftHeader]: usdText(left) }
    }
    if (!decision.admitted) {
      record.limits.refusedBy = decision.reason
      throw refusalError(decision, accounts)
    }
    record.limits.reservation = decision.reservation
    this.#services.namedBudgets?.noteAdmitted(accounts, steadyNow())
    if (decision.isUnread === true) record.limits.isSpendingUnknown = true
    record.limits.exceededBudgets = exceededBudgets(sums, decision.used)
    if (budgets.length > 0) {
      record.cost.reservedNanoUsd = isStrict ? decision.granted.nanoUsd : wanted.nanoUsd?.typical
    }
    if (isStrict) {
      record.cost.maxCostNanoUsd = decision.granted.nanoUsd
      estimated.mediaTokens = mediaTokens
    }
    return routes.length === call.routes.length ? call : { ...call, routes }
  }

  async #reserveLater (
    request: ReservationRequest,
    first: LimitDecision | Promise<LimitDecision>,
    signal: CallSignal
  ): Promise<LimitDecision> {
    const { limiter } = this.#services
    let decision = await awaitDecision(limiter, first, signal)
    while (this.#waits(decision)) {
      await sleep(Math.min(decision.waitMs, maxPauseMs), signal)
      decision = await awaitDecision(limiter, limiter.reserve(request), signal)
    }
    return decision
  }

  #waits (decision: LimitDecision): decision is RefusedDecision {
    return !decision.admitted && this.#options.waitForCapacity === true && decision.waitMs > 0
  }
}

/**
 * Returns the amount left of the budget with the least left, in billionths of a dollar; `undefined` without a
 * budget, or if the amount is unknown.
 *
 * @param used used amount of each sum; empty if unknown
 */
function budgetLeft (sums: readonly SumAccount[], used: readonly number[]): number | undefined {
  let least: number | undefined
  for (const [index, { budget, max }] of sums.entries()) {
    const usedOfSum = used[index]
    if (budget === undefined || usedOfSum === undefined) continue
    least = Math.min(least ?? Infinity, Math.max(0, max - usedOfSum))
  }
  return least
}

/** Lists exhausted soft budgets; `undefined` if there are none. */
function exceededBudgets (
  sums: readonly SumAccount[],
  used: readonly number[]
): readonly ExceededBudget[] | undefined {
  let exceeded: ExceededBudget[] | undefined
  for (const [index, account] of sums.entries()) {
    for (const budget of account.soft ?? []) {
      if ((used[index] ?? 0) < nanoUsdOf(budget)) continue
      const { endMs } = periodAt(account.window, steadyNow())
      ;(exceeded ??= []).push({ party: counterName(account.party), budget: budgetText(budget), endMs })
    }
  }
  return exceeded
}
