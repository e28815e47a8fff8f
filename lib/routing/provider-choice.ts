/**
 * Callers who choose the provider themselves, by header:
 *
 * - `X-Provider-Key`: their own key at the provider, used instead of the gateway's. Its provider
 *   is `X-Provider`, else the one the model belongs to. It may be one the gateway has no
 *   credential for.
 * - `X-Provider` alone: one of the enabled providers.
 * - `X-Provider-Model`: the model at that provider, instead of the one in the body. Alone, at the provider
 *   of the model in the body.
 *
 * A provider is named, never given by address: the gateway's credentials do not travel where a
 * caller points, and a caller's key only to the one provider it is for.
 */

import { Secret } from '../core/secret.ts'
import type { Call } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import { GatewayError } from '../core/errors.ts'
import { isHeaderSafe } from '../text/header-value.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Providers } from '../providers/provider.ts'

export interface ProviderChoice {
  readonly providerId?: string
  readonly key?: Secret
  /** The model's name at the provider. */
  readonly model?: string
}

/**
 * Reads the headers; `undefined` for a call that leaves the choice to the gateway.
 *
 * @throws GatewayError `unknown_provider`, naming those there are; `invalid_value` for a key that
 *   cannot be sent.
 */
export function providerChoice (
  headers: Call['headers'],
  providers: Providers
): ProviderChoice | undefined {
  const providerId = text(headers['x-provider'])?.toLowerCase()
  const key = ownProviderKey(headers)
  const model = text(headers['x-provider-model'])
  if (providerId === undefined && key === undefined && model === undefined) return undefined
  if (providerId !== undefined) {
    const provider = providers.get(providerId)
    const usable = provider !== undefined && (provider.enabled || key !== undefined)
    if (!usable) throw unknownProvider(providers, key !== undefined)
  }
  return {
    ...providerId !== undefined && { providerId },
    ...key !== undefined && { key },
    ...model !== undefined && { model }
  }
}

/**
 * Returns the caller's own key at the provider, without surrounding white space.
 *
 * @throws GatewayError `invalid_value` for one that no header can carry on.
 */
export function ownProviderKey (headers: Call['headers']): Secret | undefined {
  const key = text(headers['x-provider-key'])
  if (key === undefined || isHeaderSafe(key)) return key === undefined ? undefined : new Secret(key)
  throw new GatewayError('invalid_value', {
    message: 'X-Provider-Key contains a character that is not valid in a header.', param: 'X-Provider-Key'
  })
}

/**
 * Returns the routes for one model of such a call; none for a model the operator disabled.
 *
 * @throws GatewayError `unknown_provider` when the provider of the key cannot be determined.
 */
export function routesByChoice (
  choice: ProviderChoice,
  name: string,
  models: ModelRegistry,
  providers: Providers
): readonly Route[] {
  const known = models.routes(name)
  const providerId = choice.providerId ?? known[0]?.providerId ?? prefixOf(name)
  const provider = providers.get(providerId)
  if (provider === undefined || !(provider.enabled || choice.key !== undefined)) {
    throw unknownProvider(providers, choice.key !== undefined)
  }
  if (choice.model === undefined) {
    // Aliases, names without prefix and configured routes; all of a route when no provider was
    // named, so that `checkOneProvider` refuses one that stands for several.
    const there = choice.providerId === undefined
      ? known
      : known.filter(route => route.providerId === providerId)
    if (there.length > 0) return there
  }
  const route = models.routeTo(providerId, choice.model ?? name)
  return route === undefined ? [] : [route]
}

/** @throws GatewayError `invalid_value` when a caller's key would reach more than one provider. */
export function checkOneProvider (routes: readonly Route[]): void {
  const [first] = routes
  if (routes.every(({ providerId }) => providerId === first?.providerId)) return
  throw new GatewayError('invalid_value', {
    message: 'X-Provider-Key applies to one provider, but these models belong to several.',
    param: 'model'
  })
}

function prefixOf (name: string): string {
  return name.slice(0, Math.max(name.indexOf('/'), 0))
}

function unknownProvider (providers: Providers, ownKey: boolean): GatewayError {
  const ids = [...providers.values()].filter(({ enabled }) => enabled || ownKey).map(({ id }) => id)
  return new GatewayError('unknown_provider', {
    message: `X-Provider must be one of: ${ids.toSorted().join(', ')}.`, param: 'X-Provider'
  })
}

function text (header: string | string[] | undefined): string | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim()
  return value === '' ? undefined : value
}
