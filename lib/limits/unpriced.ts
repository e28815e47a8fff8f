/** Refuses what has no price, where a budget must count it. */

import { GatewayError } from '../core/errors.ts'
import { partyText, type PartyBudget } from './call-accounts.ts'
import { noTokens, type Estimate } from './estimate.ts'
import { costFor } from './max-cost.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Price } from '../core/model.ts'
import type { Route } from '../core/route.ts'
import type { ModelRegistry } from '../models/model-registry.ts'

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
    message: `No price is known for \`${param}\`, and ${partyText(refusing.party)} has a budget. ` +
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
      `A guard asks the model \`${unpriced.modelId}\` about this call. No price is known for that model, ` +
      `and ${partyText(refusing.party)} has a budget. ` +
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
export function dropUnpriced (
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
    record.routing.unusedRoutes = [
      ...(record.routing.unusedRoutes ?? []),
      ...unpriced.map(route => ({ route, reason: 'price_unknown' }))
    ]
    return [first, ...others]
  }
  throw new GatewayError('insufficient_permissions', {
    message:
      `No price is known for the model \`${routes[0].modelId}\`, and ${partyText(refusing.party)} has a budget. ` +
      'Set its price in the configuration, or `unpriced: allow` on the budget.',
    param: 'model'
  })
}

function isPriced (price: Price | undefined, { prompt, answer, units }: Estimate = noTokens): boolean {
  return price !== undefined && costFor(price, {
    prompt: prompt.typical,
    completion: answer.typical,
    units: units?.typical,
    writesCache: prompt.writesCache,
    searches: answer.searches
  }) !== undefined
}
