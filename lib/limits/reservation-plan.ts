/**
 * Plans what a call reserves: the accounts it counts in, the routes that its budgets allow because
 * everything it may use has a price, and the most it may use of each unit.
 */

import { charactersPerToken } from '../core/usage.ts'
import { requestBytes } from '../core/request-size.ts'
import { rowId } from '../text/ids.ts'
import {
  budgetsOfParties,
  limitAccountsOf,
  limitedParties,
  isNonTokenUnit,
  type Party,
  type PartyBudget,
  type SumAccount
} from './call-accounts.ts'
import { requestedUnits, type Estimate } from './estimate.ts'
import { maxCompletionOf, maxCostOf, maxMediaTokens, type Amounts } from './max-cost.ts'
import type { NamedBudgets } from './named-budgets.ts'
import type { RequestedAmount, ReservationRequest } from './reservation.ts'
import { checkGuardsPriced, dropUnpriced } from './unpriced.ts'
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

/**
 * Plans what a call reserves in the limits of parties.
 *
 * @param spending what guards may spend on it
 * @throws GatewayError `insufficient_permissions` for a model without a price if a budget requires one
 */
export function planReservation<R> (
  call: RoutedCall<R>,
  estimate: Estimate,
  parties: readonly Party[],
  spending: readonly JudgeSpending[],
  options: PlanOptions
): ReservationPlan<R> {
  const { models, settings, isEstimated, onlyGuardCosts } = options
  const { record } = call
  const units = onlyGuardCosts ? {} : requestedUnits(estimate)
  // Guards use the gateway's provider keys, whoever pays for the call.
  const gatewayPays = !onlyGuardCosts && record.caller.usesOwnProviderKey !== true
  const accounts = limitAccountsOf(parties, gatewayPays || spending.length > 0).filter(
    ({ unit }) => !isNonTokenUnit(unit) || units[unit] !== undefined
  )
  const sums = accounts.filter(account => account.counting === 'sum')
  const budgets = gatewayPays || spending.length > 0 ? budgetsOfParties(parties) : []
  const routes = gatewayPays ? dropUnpriced(call, models, budgets, estimate) : call.routes
  const isStrict = isEstimated && sums.some(({ unit, strict }) => unit === 'nanoUsd' && strict)
  const bodyBytes = requestBytes(record.request)
  const guardCost = spending.length === 0 ? 0 : costOfGuards(spending, bodyBytes, estimate, budgets, models)
  const request: ReservationRequest = {
    accounts,
    ...record.caller.parties !== undefined && { withoutStore: settings.limits.withoutStore },
    // If this process is killed, the usage row with this id settles the reservation.
    ...sums.length > 0 && { rowId: (record.limits.rowId ??= rowId()) },
    wanted: {
      tokens: {
        max: estimate.units === undefined && !onlyGuardCosts
          ? estimate.prompt.typical + estimate.answer.typical
          : 0
      },
      ...units,
      ...budgets.length > 0 && {
        nanoUsd: gatewayPays
          ? costsOf(estimate, routes, { isStrict, bodyBytes, guardCost }, options)
          : { max: guardCost, min: guardCost, typical: guardCost }
      }
    }
  }
  const media = { counts: estimate.prompt.media, bodyBytes, prompts: 1 }
  const mediaTokens = isStrict
    ? Math.max(...routes.map(({ modelId }) => maxMediaTokens(media, models.find(modelId))))
    : 0
  return { request, sums, budgets, isStrict, mediaTokens, routes }
}

interface CostFacts {
  readonly isStrict: boolean
  readonly bodyBytes: number
  /** What guards may spend, in billionths of a dollar. */
  readonly guardCost: number
}

/**
 * Returns the typical cost of a call with its guards; for strict budgets also the highest cost, and the least
 * that allows a useful answer.
 */
function costsOf (
  { prompt, answer, units }: Estimate,
  routes: readonly Route[],
  { isStrict, bodyBytes, guardCost }: CostFacts,
  { models, settings }: PlanOptions
): RequestedAmount {
  const costOf = (amounts: Amounts): number => guardCost + maxCostOf(routes, models, amounts)
  const { media: counts, writesCache } = prompt
  const { count, choices, searches } = answer
  const { answerTokens } = units ?? {}
  const typical = costOf({
    prompt: prompt.typical, completion: answer.typical, units: units?.typical, answerTokens, writesCache
  })
  if (!isStrict) return { max: typical, typical }
  return {
    max: costOf({
      prompt: prompt.max * count,
      media: { counts, bodyBytes, prompts: count },
      completion: maxCompletionOf(answer, routes, models, settings.limits.defaultMaxTokens),
      units: units?.max,
      answerTokens,
      writesCache,
      searches: searches * count
    }),
    min: costOf({
      prompt: prompt.max * choices,
      media: { counts, bodyBytes, prompts: choices },
      completion: answer.min * choices,
      units: units?.min,
      answerTokens,
      writesCache,
      searches
    }),
    typical
  }
}

/**
 * Returns what guards may spend on models: they inspect the request, and the tool results of each turn.
 * Each inspection is assumed to cost one token per character of the request, which
 * `checkInspectionAffordable` enforces.
 */
function costOfGuards (
  spending: readonly JudgeSpending[],
  bodyBytes: number,
  { prompt, answer: { count }, units }: Estimate,
  budgets: readonly PartyBudget[],
  models: Pick<ModelRegistry, 'find'>
): number {
  const textTokens = units === undefined
    ? Math.max(prompt.max, charactersPerToken * prompt.typical)
    : bodyBytes
  checkGuardsPriced(spending.map(({ route }) => route), models, budgets)
  return spending.reduce((sum, { route, promptTokens, answerTokens }) => sum + maxCostOf(
    [route], models, { prompt: count * (promptTokens + textTokens), completion: count * answerTokens }
  ), 0)
}

/**
 * Returns the budgets a call counts against: those of its key, project, member and named parties. Empty if
 * the caller pays the provider.
 */
export function budgetsOf (
  call: RoutedCall<unknown>,
  { limits: { defaultKeyLimits } }: Pick<Settings, 'limits'>,
  namedBudgets: Pick<NamedBudgets, 'budgetsOf'> | undefined
): readonly PartyBudget[] {
  if (call.record.caller.usesOwnProviderKey === true) return []
  const own = budgetsOfParties(limitedParties(call.key, defaultKeyLimits))
  return namedBudgets === undefined ? own : [...own, ...namedBudgets.budgetsOf(call)]
}
