import type { Route } from '../core/route.ts'
import type { Capability, Providers } from '../providers/provider.ts'

/**
 * Returns a test of routes: true when the provider has the capability. Other providers are never sent a
 * request.
 */
export function canServe (providers: Providers, capability: Capability): (route: Route) => boolean {
  return ({ providerId }) => providers.get(providerId)?.adapters[capability] !== undefined
}
