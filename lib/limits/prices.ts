/**
 * Selects the routes that a key with a budget may use, and computes what they may cost and what a reservation
 * still pays for.
 */

import { GatewayError } from '../core/errors.ts'
import { costNanoUsd, maxUnitCostOf } from '../usage/cost.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ModelEntry, Price } from '../core/model.ts'
import type { Route } from '../core/route.ts'
import type { Settings } from '../core/settings.ts'
import type { Units } from '../core/usage.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import { budgetsOfParties, limitedParties, partyText, type PartyBudget } from './call-accounts.ts'
import {
  type Estimate,
  estimateChat,
  type EstimateRequest,
  maxMediaTokens,
  type SentMedia
} from './estimate.ts'
import { noMedia } from './prompt-tokens.ts'
import type { NamedBudgets } from './named-budgets.ts'
import { costOfJudged, costOfWasted } from '../usage/usage-row.ts'
import { requestBytes, type CallRecord } from '../core/record.ts'
import type { ChatInput } from '../chat/input.ts'

/** Stands for "no bound": above any budget, and still exact when added up or sent as JSON. */
const unboundedNanoUsd = 2 ** 52

/** An amount of everything that can be paid for. */
export interface Amounts {
  readonly prompt: number
  readonly completion: number
  readonly units?: Units | undefined
  /** Media of the prompt, beside its tokens. */
  readonly media?: SentMedia | undefined
  /** True when the entire prompt may be written to a cache. */
  readonly writesCache?: boolean | undefined
  /** Searches of the web. Default 0. */
  readonly searches?: number | undefined
}

/**
 * Returns the budgets that a call counts against: those of its key, its project and its member, and those of
 * what it names, unless the caller pays the provider.
 */
export function budgetsOf (
  call: RoutedCall<unknown>,
  { limits: { defaultKeyLimits } }: Pick<Settings, 'limits'>,
  namedBudgets: Pick<NamedBudgets, 'budgetsOf'> | undefined
): readonly PartyBudget[] {
  if (call.record.callerProviderKey === true) return []
  const own = budgetsOfParties(limitedParties(call.key, defaultKeyLimits))
  return namedBudgets === undefined ? own : [...own, ...namedBudgets.budgetsOf(call)]
}

/**
 * Returns the first budget that allows nothing without a price. One that refuses nothing refuses no model
 * either.
 */
function onlyPriced (budgets: readonly PartyBudget[]): PartyBudget | undefined {
  return budgets.find(({ budget: { unpriced, soft } }) => unpriced !== 'allow' && soft !== true)
}

/**
 * Checks a field that changes what a provider bills in a way that no price covers.
 *
 * @throws GatewayError `insufficient_permissions` for a budget that does not allow what has no price
 */
export function checkPriced (param: string | undefined, budgets: readonly PartyBudget[]): void {
  const refusing = onlyPriced(budgets)
  if (param === undefined || refusing === undefined) return
  throw new GatewayError('insufficient_permissions', {
    message: `No price is known for \`${param}\`, and ${partyText(refusing)} has a budget. ` +
      'Leave it out, or set `unpriced: allow` on the budget.',
    param
  })
}

/**
 * Checks the models that stages ask about a call.
 *
 * @throws GatewayError `insufficient_permissions` for a budget that does not allow a model without a price
 */
export function checkGuardsPriced (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  budgets: readonly PartyBudget[]
): void {
  const refusing = onlyPriced(budgets)
  if (refusing === undefined) return
  const unpriced = routes.find(({ modelId }) => models.find(modelId)?.price === undefined)
  if (unpriced === undefined) return
  throw new GatewayError('insufficient_permissions', {
    message:
      `A stage asks the model \`${unpriced.modelId}\` about this call. No price is known for that model, ` +
      `and ${partyText(refusing)} has a budget. ` +
      'Set its price in the configuration, or `unpriced: allow` on the budget.'
  })
}

/**
 * Returns the routes whose models have a price for what a call may use, where a budget counts it. The others
 * are in the record as skipped.
 *
 * @throws GatewayError `insufficient_permissions` when none has, or when the call names a field without a
 *   price
 */
export function pricedRoutes (
  { routes, record }: Pick<RoutedCall<unknown>, 'routes' | 'record'>,
  models: Pick<ModelRegistry, 'find'>,
  budgets: readonly PartyBudget[],
  estimate?: Estimate
): RoutedCall<unknown>['routes'] {
  const refusing = onlyPriced(budgets)
  if (refusing === undefined) return routes
  checkPriced(estimate?.unpriced, budgets)
  const unpriced = routes.filter(({ modelId }) => !isPriced(models.find(modelId)?.price, estimate))
  if (unpriced.length === 0) return routes
  const [first, ...others] = routes.filter(route => !unpriced.includes(route))
  if (first !== undefined) {
    record.failedAttempts = [
      ...(record.failedAttempts ?? []),
      ...unpriced.map(route => ({ route, reason: 'price_unknown' }))
    ]
    return [first, ...others]
  }
  throw new GatewayError('insufficient_permissions', {
    message:
      `No price is known for the model \`${routes[0].modelId}\`, and ${partyText(refusing)} has a budget. ` +
      'Set its price in the configuration, or `unpriced: allow` on the budget.',
    param: 'model'
  })
}

function isPriced (price: Price | undefined, estimate: Estimate = { prompt: 0, completion: 0 }): boolean {
  return price !== undefined && costFor(price, estimate) !== undefined
}

/** Returns the highest cost of these amounts among the routes, in billionths of a dollar. */
export function maxCostOf (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  amounts: Amounts
): number {
  const costs = routes.map(({ modelId }) => {
    const model = models.find(modelId)
    if (model?.price === undefined) return 0
    return costFor(model.price, amounts, maxMediaTokens(amounts.media, model)) ?? 0
  })
  return Math.min(unboundedNanoUsd, Math.max(0, ...costs))
}

/** Returns the highest cost of a million tokens of answers to such a prompt, in billionths of a dollar. */
export function maxAnswerCostOf (
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  { prompt, media }: Pick<Amounts, 'prompt' | 'media'>
): number {
  const costs = routes.map(({ modelId }) => {
    const model = models.find(modelId)
    if (model?.price === undefined) return 0
    const mediaTokens = maxMediaTokens(media, model)
    const withAnswer = costFor(model.price, { prompt, completion: 1_000_000 }, mediaTokens) ?? 0
    return withAnswer - (costFor(model.price, { prompt, completion: 0 }, mediaTokens) ?? 0)
  })
  return Math.max(0, ...costs)
}

/**
 * Returns what a model bills; `undefined` where its price does not cover it. A model that has prices for the
 * units of a call bills the tokens of the prompt beside them at most, and no answer.
 */
function costFor (
  price: Price, { prompt, completion, units, writesCache, searches = 0 }: Omit<Amounts, 'media'>, media = 0
): number | undefined {
  const unitCost = units === undefined ? undefined : maxUnitCostOf(units, price)
  const promptTokens = prompt + media
  const completionTokens = unitCost === undefined ? completion : 0
  let highest: number | undefined
  for (const written of writesCache === true ? [0, prompt, promptTokens] : [0]) {
    for (const parts of media > 0 ? [{}, { promptAudioTokens: media }, { promptImageTokens: media }] : [{}]) {
      const usage = { promptTokens, completionTokens, totalTokens: promptTokens, searches, ...parts }
      const cost = written > 0
        ? costNanoUsd({ ...usage, cacheWriteTokens: written, cacheWriteHourTokens: written }, price)
        : costNanoUsd(usage, price)
      if (cost !== undefined) highest = Math.max(highest ?? 0, cost)
    }
  }
  return highest === undefined ? unitCost : (unitCost ?? 0) + highest
}

/**
 * Returns the most tokens the answers of a call can have. An answer that its request does not bound gets
 * `defaultTokens`, and what the model may reason with beside them, or the limit of the model if that is
 * lower: `capAnswer` holds the answer to it.
 */
export function maxCompletionOf (
  { maxCompletion, answers = 1, reasoning = 0 }: Estimate,
  routes: readonly Route[],
  models: Pick<ModelRegistry, 'find'>,
  defaultTokens: number
): number {
  if (maxCompletion !== undefined) return answers * maxCompletion
  return (
    answers *
    Math.min(
      defaultTokens + reasoning,
      Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId))))
    )
  )
}

/** Returns the bound of a model on one answer, in tokens; `Infinity` where it is not known. */
export function outputLimitOf (model: ModelEntry | undefined): number {
  const limit = model?.capabilities['output_token_limit']
  return typeof limit === 'number' ? limit : Infinity
}

/** Tokens of each choice of the next answer. */
export interface AffordableAnswer {
  /**
   * The tokens paid for after the prompt, its searches and the turns before; negative when not even those
   * are.
   */
  readonly affordable: number
  /** The tokens the request or its models allow. */
  readonly bound: number
  /** Less is not worth requesting. */
  readonly min: number
}

const million = 1_000_000

/**
 * Returns what a call of a key with a budget and `strict` limits can still afford; `undefined` for every
 * other call, and where its caller pays the provider.
 */
export function affordableTokens<R extends ChatInput> (
  { record, request, routes }: Pick<RoutedCall<R>, 'record' | 'request' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  estimate: EstimateRequest<R> = estimateChat
): AffordableAnswer | undefined {
  if (record.maxCostNanoUsd === undefined || record.callerProviderKey === true) return undefined
  const {
    maxPrompt = 0,
    maxCompletion,
    minCompletion = 1,
    choices = 1,
    writesCache,
    searches = 0,
    media: counts = noMedia
  } = estimate(request, routes)
  const { promptTokens = 0, completionTokens = 0, searches: searched = 0 } = record.usage ?? {}
  const media = { counts, bodyBytes: requestBytes(record), prompts: choices }
  const prompt = promptTokens + maxPrompt * choices
  const amounts = { prompt, media, completion: completionTokens, writesCache, searches: searched + searches }
  const left = record.maxCostNanoUsd - maxCostBeside(record, models) - maxCostOf(routes, models, amounts)
  // One token may cost less than a billionth of a dollar.
  const perMillion = maxAnswerCostOf(routes, models, { prompt, media })
  return {
    affordable: perMillion === 0 ? Infinity : Math.floor(left * million / perMillion / choices),
    bound: maxCompletion ?? Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId)))),
    min: minCompletion
  }
}

/**
 * Checks that the reservation of a call pays for a request of a stage: what tools return is of any length,
 * and so are texts in JSON.
 *
 * @param amounts the most that the request may use
 * @throws GatewayError `insufficient_quota` where it does not, for a key with a budget and `strict` limits
 */
export function checkLookAffordable (
  { record, routes }: Pick<RoutedCall<unknown>, 'record' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  route: Route,
  amounts: Pick<Amounts, 'prompt' | 'completion'>
): void {
  if (record.maxCostNanoUsd === undefined) return
  const { promptTokens = 0, completionTokens = 0, searches } = record.usage ?? {}
  const answered = { prompt: promptTokens, completion: completionTokens, searches }
  const used =
    maxCostBeside(record, models) +
    (record.callerProviderKey === true ? 0 : maxCostOf(routes, models, answered))
  if (used + maxCostOf([route], models, amounts) <= record.maxCostNanoUsd) return
  throw new GatewayError('insufficient_quota', {
    message: 'The remaining budget of this API key is too small for a stage to look at this call.'
  })
}

/**
 * Returns the most that a call costs so far beside its answers: requests that were wasted, and those of
 * stages. These may look at a request while it is answered: of an open look its whole answer is still to be
 * paid.
 */
function maxCostBeside (record: CallRecord, models: Pick<ModelRegistry, 'find'>): number {
  const { judged = [] } = record
  const looks = judged.map(look => ({ ...look, usage: look.mostUsage ?? look.usage }))
  return costOfWasted(record, models) + costOfJudged(looks, models)
}
