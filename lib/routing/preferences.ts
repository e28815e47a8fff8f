/**
 * Reads how a caller narrows and orders the models of one call, by header:
 *
 * - `X-Headgate-Only: anthropic, openai/gpt-5`: no other provider or model.
 * - `X-Headgate-Order: mistral, openai`: these first, in this order; the others after them.
 * - `X-Headgate-Max-Price: 2.5`: no model above it, in USD per million tokens (three input tokens counted
 *   for each output token), and none without a known price.
 *
 * They choose among the models that the request names; none is added.
 */

import { GatewayError } from '../core/errors.ts'
import { blendedPrice } from '../models/price.ts'
import { splitByObjection, type FilteredRoutes } from './requirements.ts'
import type { Call } from '../core/call.ts'
import type { ModelEntry } from '../core/model.ts'
import type { Route } from '../core/route.ts'

/** Entries of one header: each is compared with each model. */
const maxNames = 16

export interface Preferences {
  readonly only?: readonly string[]
  readonly order?: readonly string[]
  /** USD per million tokens. */
  readonly maxPrice?: number
}

/**
 * Reads the headers; `undefined` for a call without any of them.
 *
 * @throws GatewayError `invalid_value` for a price that is none, and for a list of more than 16 names
 */
export function readPreferences (headers: Call['headers']): Preferences | undefined {
  const { 'x-headgate-only': only, 'x-headgate-order': order, 'x-headgate-max-price': price } = headers
  if (only === undefined && order === undefined && price === undefined) return undefined
  return {
    ...only !== undefined && { only: namesIn(only, 'X-Headgate-Only') },
    ...order !== undefined && { order: namesIn(order, 'X-Headgate-Order') },
    ...price !== undefined && { maxPrice: usdIn(price) }
  }
}

/**
 * Leaves out what the caller does not want.
 *
 * @throws GatewayError `invalid_value` when no route is left
 */
export function applyPreferences (
  routes: readonly Route[], { only, maxPrice }: Preferences, find: (modelId: string) => ModelEntry | undefined
): FilteredRoutes {
  const wanted =
    only === undefined
      ? { routes, skipped: [] }
      : splitByObjection(routes, route => (placeIn(only, route) < 0 ? 'not_in_only' : undefined))
  if (wanted.routes.length === 0) throw nothingLeft('X-Headgate-Only')
  const affordable =
    maxPrice === undefined
      ? { routes: wanted.routes, skipped: [] }
      : splitByObjection(wanted.routes, ({ modelId }) => {
          const price = blendedPrice(find(modelId)?.price)
          if (price === undefined) return 'price_unknown'
          return price > maxPrice ? 'over_max_price' : undefined
        })
  if (affordable.routes.length === 0) throw nothingLeft('X-Headgate-Max-Price')
  return { routes: affordable.routes, skipped: [...wanted.skipped, ...affordable.skipped] }
}

/** Puts the routes that the caller names first, in the caller's order; the others stay as they were. */
export function inCallerOrder (routes: readonly Route[], { order }: Preferences): readonly Route[] {
  if (order === undefined) return routes
  const places = new Map(routes.map(route => [route, placeIn(order, route)]))
  const placeOf = (route: Route): number => places.get(route) ?? -1
  const named = routes.filter(route => placeOf(route) >= 0).toSorted((a, b) => placeOf(a) - placeOf(b))
  return [
    ...named.map((route): Route => ({ ...route, preferred: 'caller_order' })),
    ...routes.filter(route => placeOf(route) < 0)
  ]
}

/**
 * Returns the place of the first name that means the route: its provider, its id, or its name without prefix.
 */
function placeIn (names: readonly string[], { providerId, modelId, model }: Route): number {
  return names.findIndex(
    name => name === providerId || name === `${providerId}/*` || name === modelId || name === model
  )
}

function namesIn (header: string | string[], name: string): string[] {
  const names = [header].flat().join(',').split(',').map(text => text.trim()).filter(text => text !== '')
  if (names.length >= 1 && names.length <= maxNames) return names
  throw new GatewayError('invalid_value', {
    message: `${name} must list 1 to ${maxNames} providers or models, separated by commas.`,
    param: name
  })
}

function usdIn (header: string | string[]): number {
  const text = String(header).trim()
  const usd = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (Number.isFinite(usd)) return usd
  throw new GatewayError('invalid_value', {
    message: 'X-Headgate-Max-Price must be a number: USD per million tokens.', param: 'X-Headgate-Max-Price'
  })
}

function nothingLeft (name: string): GatewayError {
  return new GatewayError('invalid_value', {
    message: `${name} excludes every model of this call.`,
    param: name
  })
}
