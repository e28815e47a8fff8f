/**
 * Reserves what a call may use in every limit that applies to it: of its key, its project, the owner of its
 * key, its tags, its models and its end user.
 */

import { GatewayError } from '../core/errors.ts'
import { countedLimits, type CountedLimit } from '../../schemas/config/counted-limits.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { budgetText, nanoUsdOf, type Budget } from '../core/key.ts'
import { usageLimits } from '../limits/limit-table.ts'
import {
  accountsOf,
  inLimitUnit,
  isInsteadOfTokens,
  limitedParties,
  partyName,
  partyText,
  type Account,
  type Party,
  type PartyBudget,
  type PartyKind,
  sumAccountsOf,
  type SumAccount
} from '../limits/call-accounts.ts'
import { requestBytes, type ExceededBudget, type RecordedEstimate } from '../core/record.ts'
import { budgetLeftHeader, usdText, budgetLeft, rateLimitHeaders, refusalHeaders } from '../limits/headers.ts'
import { periodOf } from '../limits/windows.ts'
import { rowId } from '../text/ids.ts'
import { abortable } from '../async/cancellation.ts'
import { sleep } from '../async/sleep.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { checkStagesPriced, maxCompletionOf, maxCostOf, pricedRoutes } from '../limits/prices.ts'
import type { Route } from '../core/route.ts'
import { charactersPerToken, type EstimatedUnits } from '../core/usage.ts'
import type { AuthedCall, RoutedCall } from '../core/call.ts'
import type { CallSignal } from '../core/call-signal.ts'
import {
  maxMediaTokens,
  noMedia,
  answerTokens,
  type Estimate,
  type EstimateRequest,
  wantedUnits
} from '../limits/estimate.ts'
import { spendingOn } from '../guards/text-filter.ts'
import type { JudgeSpending } from '../guards/text-judge.ts'
import type { Limiter } from '../limits/limiter.ts'
import { undoReservation, type LimitDecision, type ReservationRequest, type Wanted } from '../limits/counters.ts'
import type { Services } from '../services.ts'

export interface LimitsOptions<R> {
  /** Estimates what a request may use. Default: no tokens and no money are reserved. */
  readonly estimate?: EstimateRequest<R>
  /** Waits for capacity instead of refusing: for calls without a waiting caller. */
  readonly waitForCapacity?: boolean
  /**
   * Reserves only what configured stages may spend on models, and ignores calls without such stages: for
   * endpoints that cost nothing themselves. Default: false.
   */
  readonly onlyStageCosts?: boolean
}

type LimitsServices =
  Pick<Services, 'limiter' | 'models' | 'settings' | 'textStages' | 'namedBudgets'>

/** Milliseconds between two tries of a call that waits: reservations of others may end at any time. */
const maxPauseMs = 1000

/**
 * Admits calls: one in, the same out, perhaps with fewer routes. What it may use is reserved here and settled
 * when it has ended (`limits/call-recorder`). Calls without limits pass.
 *
 * A call with a budget uses priced models only. Unless `strict` is false, it is granted the most it can cost
 * or what is left of the budget, whichever is less; `capAnswer` keeps the answer within that.
 *
 * @throws GatewayError `rate_limit_exceeded`, with the time after which to try again;
 *   `insufficient_quota` when the budget is used up; `insufficient_permissions` for a model without a price
 */
export function limits<R = unknown> (
  services: LimitsServices,
  options: LimitsOptions<R> = {}
): PassThroughStage<RoutedCall<R>> {
  const callLimits = new CallLimits(services, options)
  return map(call => callLimits.admit(call))
}

/** The accounts a call counts in, the budgets it spends from, and the amounts to reserve. */
interface ReservationPlan<R> {
  readonly accounts: readonly Account[]
  /** Those of the accounts that are sums. */
  readonly sums: readonly SumAccount[]
  readonly budgets: readonly PartyBudget[]
  readonly hasSoft: boolean
  readonly isStrict: boolean
  /** The routes that its budgets allow. */
  readonly routes: RoutedCall<R>['routes']
  readonly request: ReservationRequest
}

class CallLimits<R> {
  readonly #services: LimitsServices
  readonly #options: LimitsOptions<R>

  constructor (services: LimitsServices, options: LimitsOptions<R>) {
    this.#services = services
    this.#options = options
  }

  admit<C extends RoutedCall<R>> (call: C): C | Promise<C> {
    const { settings, namedBudgets } = this.#services
    const { estimate, onlyStageCosts = false } = this.#options
    if (onlyStageCosts && this.#spendingOf(call).length === 0) return call
    const estimated = new RequestEstimate(call, estimate)
    if (estimate !== undefined && !onlyStageCosts) call.record.estimate = estimated
    const own = limitedParties(call.key, settings.limits.defaultKeyLimits)
    const named = namedBudgets?.partiesOf(call, steadyNow(), { mayBeAnonymous: onlyStageCosts }) ?? []
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
    if (named.length > 0) {
      call.record.parties = named.map(({ kind, id }) => partyName({ party: kind, partyId: id }))
    }
    const plan = this.#plan(call, estimated.value, parties)
    const decision = this.#services.limiter.reserve(plan.request)
    // Usually this process decides by itself, and there is no promise to wait for.
    return decision instanceof Promise || this.#waits(decision)
      ? this.#reserveLater(plan.request, decision, call.signal)
        .then(later => this.#decided(call, estimated, plan, later))
      : this.#decided(call, estimated, plan, decision)
  }

  #plan (call: RoutedCall<R>, tokens: Estimate, parties: readonly Party[]): ReservationPlan<R> {
    const { models, settings } = this.#services
    const { estimate, onlyStageCosts = false } = this.#options
    const { record } = call
    const units = onlyStageCosts ? {} : wantedUnits(tokens)
    const spending = this.#spendingOf(call)
    // Stages use the gateway's own keys, whoever pays for the call.
    const paysProvider = !onlyStageCosts && record.ownProviderKey !== true
    const accounts = accountsOf(parties, paysProvider || spending.length > 0).filter(
      ({ unit }) => !isInsteadOfTokens(unit) || units[unit] !== undefined
    )
    const sums = sumAccountsOf(accounts)
    const budgets = sums.flatMap(({ party, partyId, budget, soft = [] }) => (
      (budget === undefined ? soft : [budget]).map(each => ({ party, partyId, budget: each }))
    ))
    const routes = paysProvider
      ? budgets.reduce<RoutedCall<R>['routes']>(
          (left, budget) => pricedRoutes({ ...call, routes: left }, models, budget, tokens),
          call.routes
        )
      : call.routes
    const isStrict = estimate !== undefined && sums.some(({ unit, strict }) => unit === 'nanoUsd' && strict)
    const bodyBytes = requestBytes(record)
    const ownCost = paysProvider ? this.#costsOf(tokens, routes, isStrict, bodyBytes) : noCost
    const nanoUsd = spending.length === 0 || budgets.length === 0
      ? ownCost
      : withExtra(ownCost, this.#costOfStages(spending, bodyBytes, tokens, budgets))
    const request: ReservationRequest = {
      accounts,
      ...record.parties !== undefined && { withoutStore: settings.limits.withoutStore },
      // If this process is killed, the usage record with this id settles the reservation.
      ...sums.length > 0 && { rowId: (record.rowId ??= rowId()) },
      wanted: {
        tokens: {
          most: tokens.units === undefined && !onlyStageCosts ? tokens.prompt + tokens.completion : 0
        },
        ...units,
        ...budgets.length > 0 && { nanoUsd }
      }
    }
    const hasSoft = sums.some(({ soft }) => soft !== undefined)
    return { accounts, sums, budgets, hasSoft, isStrict, routes, request }
  }

  /** Notes a decision in the record. @throws GatewayError for a refusal */
  #decided<C extends RoutedCall<R>> (
    call: C,
    estimated: RequestEstimate<R>,
    { accounts, sums, budgets, hasSoft, isStrict, routes, request }: ReservationPlan<R>,
    decision: LimitDecision
  ): C {
    const { record } = call
    record.limitHeaders = decision.admitted
      ? rateLimitHeaders(decision.rateLimits)
      : refusalHeaders(decision, accounts)
    const left = record.hidesCost || budgets.length === 0 ? undefined : budgetLeft(sums, decision.used)
    if (left !== undefined) {
      record.budgetLeftNanoUsd = left
      record.limitHeaders = { ...record.limitHeaders, [budgetLeftHeader]: usdText(left) }
    }
    if (!decision.admitted) {
      record.refusedBy = decision.reason
      throw refusal(decision, accounts)
    }
    record.reservation = decision.reservation
    this.#services.namedBudgets?.noteAdmitted(accounts, steadyNow())
    if (decision.isUnread === true) record.budgetUnread = true
    if (hasSoft) record.exceededBudgets = exceededBudgets(sums, decision.used)
    if (budgets.length > 0) {
      record.reservedNanoUsd = isStrict ? decision.granted.nanoUsd : request.wanted.nanoUsd?.usual
    }
    if (isStrict) {
      record.maxCostNanoUsd = decision.granted.nanoUsd
      const { media: counts = noMedia } = estimated.value
      const media = { counts, bodyBytes: requestBytes(record), prompts: 1 }
      estimated.mediaTokens = Math.max(
        ...routes.map(({ modelId }) => maxMediaTokens(media, this.#services.models.find(modelId)))
      )
    }
    return routes.length === call.routes.length ? call : { ...call, routes }
  }

  async #reserveLater (
    request: ReservationRequest,
    first: LimitDecision | Promise<LimitDecision>,
    signal: CallSignal
  ): Promise<LimitDecision> {
    const { limiter } = this.#services
    let decision = await untilAborted(limiter, first, signal)
    while (this.#waits(decision)) {
      await sleep(Math.min(decision.waitMs, maxPauseMs), signal)
      decision = await untilAborted(limiter, limiter.reserve(request), signal)
    }
    return decision
  }

  #waits (decision: LimitDecision): decision is Refused {
    return !decision.admitted && this.#options.waitForCapacity === true && decision.waitMs > 0
  }

  #spendingOf (call: RoutedCall<R>): readonly JudgeSpending[] {
    const { textStages } = this.#services
    return textStages === undefined ? [] : spendingOn(textStages, call)
  }

  /**
   * Returns what a call usually costs; for strict budgets also the most it can cost, and the least that
   * allows a useful answer.
   */
  #costsOf (tokens: Estimate, routes: readonly Route[], isStrict: boolean, bodyBytes: number): Wanted {
    const { models, settings } = this.#services
    const {
      prompt,
      maxPrompt = prompt,
      completion,
      minCompletion = 0,
      answers = 1,
      choices = 1,
      units,
      writesCache,
      searches = 0
    } = tokens
    const usual = maxCostOf(routes, models, { prompt, completion, units, writesCache })
    if (!isStrict) return { most: usual, usual }
    const { maxUnits = units, minUnits = maxUnits, media: counts = noMedia } = tokens
    const maxCompletion = maxCompletionOf(tokens, routes, models, settings.limits.defaultMaxTokens)
    return {
      most: maxCostOf(routes, models, {
        prompt: maxPrompt * answers,
        media: { counts, bodyBytes, prompts: answers },
        completion: maxCompletion,
        units: maxUnits,
        writesCache,
        searches: searches * answers
      }),
      least: maxCostOf(routes, models, {
        prompt: maxPrompt * choices,
        media: { counts, bodyBytes, prompts: choices },
        completion: minCompletion * choices,
        units: minUnits,
        writesCache,
        searches
      }),
      usual
    }
  }

  /**
   * Returns what configured stages may spend on models: they check the request, and the tool results of each
   * turn. Each check is assumed to cost one token per character of the request, which `checkLookAffordable`
   * enforces.
   */
  #costOfStages (
    spending: readonly JudgeSpending[],
    bodyBytes: number,
    { prompt, maxPrompt = prompt, answers = 1, units }: Estimate,
    budgets: readonly PartyBudget[]
  ): number {
    const { models } = this.#services
    const textTokens = units === undefined ? Math.max(maxPrompt, charactersPerToken * prompt) : bodyBytes
    checkStagesPriced(spending.map(({ route }) => route), models, budgets)
    return spending.reduce((sum, { route, promptTokens, answerTokens }) => sum + maxCostOf(
      [route], models, { prompt: answers * (promptTokens + textTokens), completion: answers * answerTokens }
    ), 0)
  }
}

/**
 * Waits for another process to decide. If the call ends first, a reservation granted later is released.
 */
async function untilAborted (
  limiter: Limiter,
  decision: LimitDecision | Promise<LimitDecision>,
  signal: CallSignal
): Promise<LimitDecision> {
  if (!(decision instanceof Promise)) return decision
  try {
    return await abortable(decision, signal)
  } catch (error) {
    decision.then(
      late => {
        if (late.admitted) limiter.settle(late.reservation, undoReservation)
      },
      () => {
        /* nothing is reserved */
      }
    )
    throw error
  }
}

const noTokens: Estimate = { prompt: 0, completion: 0 }
const noCost: Wanted = { most: 0, least: 0, usual: 0 }

/**
 * The estimate of one request, computed on first use and kept: it reads every text of the request, which
 * takes milliseconds for a large one.
 */
class RequestEstimate<R> implements RecordedEstimate {
  readonly #estimate: EstimateRequest<R> | undefined
  /** Undefined once the estimate is computed. */
  #request: R | undefined
  readonly #routes: readonly Route[]
  #value: Estimate | undefined
  /**
   * Tokens to count for media if the provider reports no usage. Only set for strict budgets, which count the
   * most a call can cost.
   */
  mediaTokens = 0

  constructor ({ request, routes }: RoutedCall<R>, estimate: EstimateRequest<R> | undefined) {
    this.#request = request
    this.#routes = routes
    this.#estimate = estimate
  }

  get value (): Estimate {
    if (this.#value === undefined) {
      // the request is defined until the estimate is
      this.#value = this.#estimate?.(this.#request as R, this.#routes) ?? noTokens
      this.#request = undefined
    }
    return this.#value
  }

  countPrompt (): number | undefined {
    const { prompt, units } = this.value
    return units === undefined ? prompt + this.mediaTokens : undefined
  }

  countAnswer (): number {
    const { completion, choices = 1 } = this.value
    return Math.min(completion, choices * answerTokens)
  }

  estimateUnits (): EstimatedUnits | undefined {
    const { units, prompt, completion } = this.value
    return units && { ...units, promptTokens: prompt, completionTokens: completion }
  }
}

/**
 * Counts usage without refusing: one call in, the same call out. For calls that fetch what an earlier call
 * was admitted for.
 */
export function countOnly ({
  limiter,
  settings
}: Pick<Services, 'limiter' | 'settings'>): PassThroughStage<AuthedCall> {
  const reserve = async <C extends AuthedCall>(call: C, parties: readonly Party[]): Promise<C> => {
    const accounts = accountsOf(parties.map(party => ({ ...party, limits: usageLimits(party.limits) })))
    const decision = await untilAborted(
      limiter,
      limiter.reserve({ accounts, wanted: {}, alreadyAdmitted: true }),
      call.signal
    )
    if (decision.admitted) call.record.reservation = decision.reservation
    return call
  }
  return map(<C extends AuthedCall>(call: C): C | Promise<C> => {
    const parties = limitedParties(call.key, settings.limits.defaultKeyLimits)
    return parties.length === 0 ? call : reserve(call, parties)
  })
}

/** Adds an amount to each part. */
function withExtra ({ most, least, usual }: Wanted, amount: number): Wanted {
  return {
    most: most + amount,
    ...least !== undefined && { least: least + amount },
    ...usual !== undefined && { usual: usual + amount }
  }
}

type Refused = Extract<LimitDecision, { readonly admitted: false }>

/** Longest `retry-after` of a refusal, in seconds. */
const maxRetrySeconds = 60

/** Request parameters that name a party. */
const params: Readonly<Partial<Record<PartyKind, string>>> = { end_user: 'user', model: 'model' }

function capitalised (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
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
      const { endMs } = periodOf(account.window, steadyNow())
      ;(exceeded ??= []).push({ party: partyName(account), budget: budgetText(budget), endMs })
    }
  }
  return exceeded
}

function refusal (
  { accountIndex, reason, waitMs, endMs }: Refused,
  accounts: readonly Account[]
): GatewayError {
  const account = accounts[accountIndex] as Account // the limiter returns an index of its input
  const name = partyText(account)
  const amount = inLimitUnit(account, account.amount)
  const param = params[account.party]
  const retryAfterSeconds = Math.min(maxRetrySeconds, Math.max(1, Math.ceil(waitMs / 1000)))
  if (reason === 'budget_unread') {
    return new GatewayError('overloaded', {
      ...param !== undefined && { param },
      message: `The spending of ${name} cannot be read at the moment. Try again later.`,
      retryAfterSeconds
    })
  }
  if (account.counting !== 'sum') {
    const { allows, note }: CountedLimit = countedLimits[account.limit]
    return new GatewayError('rate_limit_exceeded', {
      message: `${capitalised(name)} allows ${amount} ${allows}.${note === undefined ? '' : ` ${note}`}`,
      retryAfterSeconds
    })
  }
  const untilEnd =
    endMs === undefined || endMs === Infinity
      ? undefined
      : Math.max(1, Math.ceil((endMs - steadyNow()) / 1000))
  if (account.limit !== 'budget') {
    const message = `${capitalised(name)} allows ${amount} ${countedLimits[account.limit].allows}.`
    return new GatewayError('rate_limit_exceeded', {
      message,
      retryAfterSeconds:
        waitMs > 0 ? retryAfterSeconds : Math.min(maxRetrySeconds, untilEnd ?? maxRetrySeconds)
    })
  }
  // Soft budgets refuse nothing.
  const budget = `budget of ${name} (${budgetText(account.budget as Budget)})`
  if (reason === 'budget_reserved') {
    return new GatewayError('rate_limit_exceeded', {
      ...param !== undefined && { param },
      message: `Calls in progress may use up the ${budget}.`,
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
