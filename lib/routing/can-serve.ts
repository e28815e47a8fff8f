import type { Route } from '../core/route.ts'
import type { Capability, Providers } from '../providers/provider.ts'

/** Returns a predicate for routes whose provider has the capability. Other providers never get a request. */
export function canServe (providers: Providers, capability: Capability): (route: Route) => boolean {
  return ({ providerId }) => providers.get(providerId)?.adapters[capability] !== undefined
}
