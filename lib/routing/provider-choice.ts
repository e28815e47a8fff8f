/**
 * Lets callers choose the provider by header:
 * - `X-Provider-Key`: their own key at the provider, used instead of the gateway's. The provider is
 *   `X-Provider`, else the one of the model. The gateway needs no credential for it.
 * - `X-Provider` alone: one of the enabled providers.
 * - `X-Provider-Model`: the model at that provider, instead of the one in the body. Alone, at the provider of
 *   the model in the body.
 *
 * Providers are chosen by name, never by URL: the gateway's credentials are not sent where a caller points,
 * and a caller's key only goes to its provider.
 *
 * Other headers filter and order the models that the request names:
 * - `X-Headgate-Only: anthropic, openai/gpt-5`: no other provider or model.
 * - `X-Headgate-Order: mistral, openai`: these first, in this order; the others after them.
 * - `X-Headgate-Max-Price: 2.5`: no model above it, in USD per million tokens (three input tokens counted for
 *   each output token), and none without a known price.
 */

import { Secret } from '../core/secret.ts'
import type { Call } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import { GatewayError } from '../core/errors.ts'
import { isHeaderSafe } from '../text/header-value.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Providers } from '../providers/provider.ts'
import { blendedPrice } from '../models/price.ts'
import { splitBySuitability, type FilteredRoutes } from './requirements.ts'
import type { ModelEntry } from '../core/model.ts'

export interface ProviderChoice {
  readonly providerId?: string
  readonly key?: Secret
  /** The model's name at the provider. */
  readonly model?: string
}

/**
 * Reads the headers; `undefined` for a call that leaves the choice to the gateway.
 *
 * @throws GatewayError `unknown_provider`, listing the known ones; `invalid_value` for a key that cannot be
 *   sent.
 */
export function providerChoice (
  headers: Call['headers'],
  providers: Providers
): ProviderChoice | undefined {
  const names = ['x-provider', 'x-provider-key', 'x-provider-model']
  if (!names.some(name => headers[name] !== undefined)) return undefined
  const providerId = text(headers['x-provider'])?.toLowerCase()
  const key = callerProviderKey(headers)
  const model = text(headers['x-provider-model'])
  if (providerId === undefined && key === undefined && model === undefined) return undefined
  if (providerId !== undefined) {
    const provider = providers.get(providerId)
    const isUsable = provider !== undefined && (provider.enabled || key !== undefined)
    if (!isUsable) throw unknownProvider(providers, key !== undefined)
  }
  return {
    ...providerId !== undefined && { providerId },
    ...key !== undefined && { key },
    ...model !== undefined && { model }
  }
}

/**
 * Returns the caller's own key at the provider, trimmed.
 *
 * @throws GatewayError `invalid_value` for a key that is not a valid header value.
 */
export function callerProviderKey (headers: Call['headers']): Secret | undefined {
  const key = text(headers['x-provider-key'])
  if (key === undefined || isHeaderSafe(key)) return key === undefined ? undefined : new Secret(key)
  throw new GatewayError('invalid_value', {
    message: '`X-Provider-Key` contains a character that is not valid in a header.', param: 'X-Provider-Key'
  })
}

/**
 * Returns the routes for one model of such a call; none for a model the operator disabled.
 *
 * @throws GatewayError `unknown_provider` if the provider of the key cannot be determined.
 */
export function routesByChoice (
  choice: ProviderChoice,
  name: string,
  models: ModelRegistry,
  providers: Providers
): readonly Route[] {
  const named = models.routes(name)
  const providerId = choice.providerId ?? named[0]?.providerId ?? prefixOf(name)
  const provider = providers.get(providerId)
  if (provider === undefined || !(provider.enabled || choice.key !== undefined)) {
    throw unknownProvider(providers, choice.key !== undefined)
  }
  if (choice.model === undefined) {
    // Aliases, names without prefix and configured routes. Without a named provider all models of a route are
    // included, so that `checkOneProvider` can refuse a route with several providers.
    const matching = choice.providerId === undefined
      ? named
      : named.filter(route => route.providerId === providerId)
    if (matching.length > 0) return matching
  }
  const route = models.routeTo(providerId, choice.model ?? name)
  return route === undefined ? [] : [route]
}

/** @throws GatewayError `invalid_value` if a caller's key would reach more than one provider. */
export function checkOneProvider (routes: readonly Route[]): void {
  const [first] = routes
  if (routes.every(({ providerId }) => providerId === first?.providerId)) return
  throw new GatewayError('invalid_value', {
    message:
      '`X-Provider-Key` applies to one provider, but these models belong to several. Send models of one provider.',
    param: 'model'
  })
}

function prefixOf (name: string): string {
  return name.slice(0, Math.max(name.indexOf('/'), 0))
}

function unknownProvider (providers: Providers, isOwnKey: boolean): GatewayError {
  const ids = [...providers.values()].filter(({ enabled }) => enabled || isOwnKey).map(({ id }) => id)
  return new GatewayError('unknown_provider', {
    message: `\`X-Provider\` must be one of: ${ids.toSorted().join(', ')}.`, param: 'X-Provider'
  })
}

function text (header: string | string[] | undefined): string | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim()
  return value === '' ? undefined : value
}

/** Maximum names in a header: each is compared with each model. */
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
 * @throws GatewayError `invalid_value` for an invalid price, and for a list of more than 16 names
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
 * Removes the routes that the caller excludes.
 *
 * @throws GatewayError `invalid_value` if no route is left
 */
export function applyPreferences (
  routes: readonly Route[], { only, maxPrice }: Preferences, find: (modelId: string) => ModelEntry | undefined
): FilteredRoutes {
  const wanted =
    only === undefined
      ? { routes, skipped: [] }
      : splitBySuitability(routes, route => (indexIn(only, route) < 0 ? 'not_in_only' : undefined))
  if (wanted.routes.length === 0) throw nothingLeft('X-Headgate-Only')
  const affordable =
    maxPrice === undefined
      ? { routes: wanted.routes, skipped: [] }
      : splitBySuitability(wanted.routes, ({ modelId }) => {
          const price = blendedPrice(find(modelId)?.price)
          if (price === undefined) return 'price_unknown'
          return price > maxPrice ? 'over_max_price' : undefined
        })
  if (affordable.routes.length === 0) throw nothingLeft('X-Headgate-Max-Price')
  return { routes: affordable.routes, skipped: [...wanted.skipped, ...affordable.skipped] }
}

/** Moves the routes that the caller names to the front, in the caller's order. */
export function orderByCaller (routes: readonly Route[], { order }: Preferences): readonly Route[] {
  if (order === undefined) return routes
  const positions = new Map(routes.map(route => [route, indexIn(order, route)]))
  const positionOf = (route: Route): number => positions.get(route) ?? -1
  const named = routes
    .filter(route => positionOf(route) >= 0)
    .toSorted((a, b) => positionOf(a) - positionOf(b))
  return [
    ...named.map((route): Route => ({ ...route, preferred: 'caller_order' })),
    ...routes.filter(route => positionOf(route) < 0)
  ]
}

/**
 * Returns the index of the first name that matches the route: its provider, in capitals or not, its id, or
 * its name without prefix.
 */
function indexIn (names: readonly string[], { providerId, modelId, model }: Route): number {
  return names.findIndex(name => (
    name.toLowerCase().replace(/\/\*$/, '') === providerId || name === modelId || name === model
  ))
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
    message: '`X-Headgate-Max-Price` must be a number: USD per million tokens.', param: 'X-Headgate-Max-Price'
  })
}

function nothingLeft (name: string): GatewayError {
  return new GatewayError('invalid_value', {
    message: `${name} excludes every model of this call.`,
    param: name
  })
}
