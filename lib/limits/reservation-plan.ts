/** Plans what a call reserves: the accounts it counts in, and the most it may use of each. */

import { charactersPerToken } from '../core/usage.ts'
import { requestBytes } from '../core/record.ts'
import { rowId } from '../text/ids.ts'
import {
  accountsOf,
  isNonTokenUnit,
  sumAccountsOf,
  type Party,
  type PartyBudget,
  type SumAccount
} from './call-accounts.ts'
import { maxMediaTokens, requestedUnits, type Estimate } from './estimate.ts'
import { noMedia } from './prompt-tokens.ts'
import { checkGuardsPriced, maxCompletionOf, maxCostOf, pricedRoutes } from './prices.ts'
import type { ReservationRequest, RequestedAmount } from './reservation.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { Settings } from '../core/settings.ts'
import type { JudgeSpending } from '../guards/text-judge.ts'

export interface PlanOptions {
  readonly models: Pick<ModelRegistry, 'find'>
  readonly settings: Pick<Settings, 'limits'>
  /** False if no estimate exists; then no budget is strict. */
  readonly isEstimated: boolean
  /** True for endpoints whose only cost is that of guards. */
  readonly onlyGuardCosts: boolean
}

/** What a call reserves in its accounts, and the budgets it counts against. */
export interface ReservationPlan<R> {
  readonly request: ReservationRequest
  /** The accounts that are sums. */
  readonly sums: readonly SumAccount[]
  readonly budgets: readonly PartyBudget[]
  readonly isStrict: boolean
  /** The most tokens of its media on any route; 0 without a strict budget. */
  readonly mediaTokens: number
  /** The routes allowed by its budgets. */
  readonly routes: RoutedCall<R>['routes']
}

const noCost: RequestedAmount = { most: 0, least: 0, usual: 0 }

/**
 * Plans what a call reserves in the limits of parties.
 *
 * @param spending what guards may spend on it
 * @throws GatewayError `insufficient_permissions` for a model without a price if a budget requires one
 */
export function planReservation<R> (
  call: RoutedCall<R>,
  tokens: Estimate,
  parties: readonly Party[],
  spending: readonly JudgeSpending[],
  options: PlanOptions
): ReservationPlan<R> {
  const { models, settings, isEstimated, onlyGuardCosts } = options
  const { record } = call
  const units = onlyGuardCosts ? {} : requestedUnits(tokens)
  // Guards use the gateway's provider keys, whoever pays for the call.
  const paysProvider = !onlyGuardCosts && record.callerProviderKey !== true
  const accounts = accountsOf(parties, paysProvider || spending.length > 0).filter(
    ({ unit }) => !isNonTokenUnit(unit) || units[unit] !== undefined
  )
  const sums = sumAccountsOf(accounts)
  const budgets = sums.flatMap(({ party, partyId, budget, soft = [] }) => (
    (budget === undefined ? soft : [budget]).map(each => ({ party, partyId, budget: each }))
  ))
  const routes = paysProvider ? pricedRoutes(call, models, budgets, tokens) : call.routes
  const isStrict = isEstimated && sums.some(({ unit, strict }) => unit === 'nanoUsd' && strict)
  const bodyBytes = requestBytes(record)
  const request: ReservationRequest = {
    accounts,
    ...record.parties !== undefined && { withoutStore: settings.limits.withoutStore },
    // If this process is killed, the usage row with this id settles the reservation.
    ...sums.length > 0 && { rowId: (record.rowId ??= rowId()) },
    wanted: {
      tokens: {
        most: tokens.units === undefined && !onlyGuardCosts ? tokens.prompt + tokens.completion : 0
      },
      ...units,
      ...budgets.length > 0 && {
        nanoUsd: withExtra(
          paysProvider ? costsOf(tokens, routes, isStrict, bodyBytes, options) : noCost,
          costOfGuards(spending, bodyBytes, tokens, budgets, models)
        )
      }
    }
  }
  const media = { counts: tokens.media ?? noMedia, bodyBytes, prompts: 1 }
  const mediaTokens = isStrict
    ? Math.max(...routes.map(({ modelId }) => maxMediaTokens(media, models.find(modelId))))
    : 0
  return { request, sums, budgets, isStrict, mediaTokens, routes }
}

/**
 * Returns the typical cost of a call; for strict budgets also the highest cost, and the least that allows a
 * useful answer.
 */
function costsOf (
  tokens: Estimate,
  routes: readonly Route[],
  isStrict: boolean,
  bodyBytes: number,
  { models, settings }: PlanOptions
): RequestedAmount {
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
 * Returns what guards may spend on models: they check the request, and the tool results of each turn. Each
 * check is assumed to cost one token per character of the request, which `checkInspectionAffordable`
 * enforces.
 */
function costOfGuards (
  spending: readonly JudgeSpending[],
  bodyBytes: number,
  { prompt, maxPrompt = prompt, answers = 1, units }: Estimate,
  budgets: readonly PartyBudget[],
  models: Pick<ModelRegistry, 'find'>
): number {
  const textTokens = units === undefined ? Math.max(maxPrompt, charactersPerToken * prompt) : bodyBytes
  checkGuardsPriced(spending.map(({ route }) => route), models, budgets)
  return spending.reduce((sum, { route, promptTokens, answerTokens }) => sum + maxCostOf(
    [route], models, { prompt: answers * (promptTokens + textTokens), completion: answers * answerTokens }
  ), 0)
}

/** Adds an amount to each part. */
function withExtra ({ most, least, usual }: RequestedAmount, amount: number): RequestedAmount {
  return {
    most: most + amount,
    ...least !== undefined && { least: least + amount },
    ...usual !== undefined && { usual: usual + amount }
  }
}
