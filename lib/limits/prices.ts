/**
 * Selects the routes that a key with a budget may use, computes what they may cost, and what a reservation
 * can still afford.
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

/** Stands for "unlimited": above any budget, and still exact when summed or sent as JSON. */
const unboundedNanoUsd = 2 ** 52

/** Amounts of everything that is billed. */
export interface Amounts {
  readonly prompt: number
  readonly completion: number
  readonly units?: Units | undefined
  /** Media of the prompt, in addition to its tokens. */
  readonly media?: SentMedia | undefined
  /** True if the entire prompt may be written to a cache. */
  readonly writesCache?: boolean | undefined
  /** Searches of the web. Default 0. */
  readonly searches?: number | undefined
}

/**
 * Returns the budgets a call counts against: those of its key, project, owner and named parties. Empty if the
 * caller pays the provider.
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

/** Returns the first budget that requires a price. Soft budgets refuse no model. */
function onlyPriced (budgets: readonly PartyBudget[]): PartyBudget | undefined {
  return budgets.find(({ budget: { unpriced, soft } }) => unpriced !== 'allow' && soft !== true)
}

/**
 * Checks a field that changes the bill in a way that no price covers.
 *
 * @throws GatewayError `insufficient_permissions` if a budget requires a price
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
 * Checks the models that guards call.
 *
 * @throws GatewayError `insufficient_permissions` if a budget requires a price and a model has none
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
 * Returns the routes whose models have a price for everything the call may use, if a budget counts it. The
 * record lists the others as skipped.
 *
 * @throws GatewayError `insufficient_permissions` if no route has, or if the call uses a field without a
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

/** Returns the highest cost of a million answer tokens after such a prompt, in billionths of a dollar. */
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
 * Returns what a model bills; `undefined` if its price does not cover the call. A model with prices for the
 * units of a call bills at most the prompt tokens in addition, and no answer.
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
 * Returns the most tokens the answers of a call can have. An answer without a limit gets `defaultTokens` plus
 * reasoning tokens, or the model's limit if that is lower. `capAnswer` enforces it.
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

/** Returns a model's limit on one answer, in tokens; `Infinity` if unknown. */
export function outputLimitOf (model: ModelEntry | undefined): number {
  const limit = model?.capabilities['output_token_limit']
  return typeof limit === 'number' ? limit : Infinity
}

/** Tokens for each choice of the next answer. */
export interface AffordableAnswer {
  /** Tokens affordable after the prompt, its searches and earlier turns; negative if not even those are. */
  readonly affordable: number
  /** The limit of the request or its models. */
  readonly bound: number
  /** A shorter answer is not worth requesting. */
  readonly min: number
}

const million = 1_000_000

/**
 * Returns what a call of a key with a strict budget can still afford; `undefined` for other calls, and if the
 * caller pays the provider.
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
  const left = record.maxCostNanoUsd - maxExtraCost(record, models) - maxCostOf(routes, models, amounts)
  // One token may cost less than a billionth of a dollar.
  const perMillion = maxAnswerCostOf(routes, models, { prompt, media })
  return {
    affordable: perMillion === 0 ? Infinity : Math.floor(left * million / perMillion / choices),
    bound: maxCompletion ?? Math.max(...routes.map(({ modelId }) => outputLimitOf(models.find(modelId)))),
    min: minCompletion
  }
}

/**
 * Checks that a call's reservation covers a guard's request: tool results and JSON texts may be of any
 * length.
 *
 * @param amounts the most that the request may use
 * @throws GatewayError `insufficient_quota` if it does not, for a key with a strict budget
 */
export function checkInspectionAffordable (
  { record, routes }: Pick<RoutedCall<unknown>, 'record' | 'routes'>,
  models: Pick<ModelRegistry, 'find'>,
  route: Route,
  amounts: Pick<Amounts, 'prompt' | 'completion'>
): void {
  if (record.maxCostNanoUsd === undefined) return
  const { promptTokens = 0, completionTokens = 0, searches } = record.usage ?? {}
  const answered = { prompt: promptTokens, completion: completionTokens, searches }
  const used =
    maxExtraCost(record, models) +
    (record.callerProviderKey === true ? 0 : maxCostOf(routes, models, answered))
  if (used + maxCostOf([route], models, amounts) <= record.maxCostNanoUsd) return
  throw new GatewayError('insufficient_quota', {
    message: 'The remaining budget of this API key is too small for a stage to check this call.'
  })
}

/**
 * Returns the highest cost of a call so far without its answers: failed requests, and those of guards. A
 * guard may still be checking the request, so the full answer of an open check is included.
 */
function maxExtraCost (record: CallRecord, models: Pick<ModelRegistry, 'find'>): number {
  const { judged = [] } = record
  const looks = judged.map(look => ({ ...look, usage: look.mostUsage ?? look.usage }))
  return costOfWasted(record, models) + costOfJudged(looks, models)
}
