import { decide } from '../routing/decision.ts'
import { RouteHealth } from '../routing/route-health.ts'
import type { Call, RoutedCall } from '../call.ts'
import type { Provider } from '../providers/provider.ts'
import type { Reply } from '../reply.ts'
import type { Services } from '../services.ts'

type RoutingServices = Pick<Services, 'providers' | 'health'>

/**
 * Answers a dry run (`X-Headgate-Dry-Run: true`) with the decision about its routes, and every other
 * call as `answer` does. For a dry run no provider is asked.
 *
 * @param pick what a provider must have to serve the endpoint
 */
export function orDecision<R> (
  services: RoutingServices, pick: (provider: Provider) => unknown, answer: (call: RoutedCall<R>) => Promise<Reply>
): (call: RoutedCall<R>) => Promise<Reply> {
  return async call => isDryRun(call) ? decisionOn(call, services, pick) : await answer(call)
}

/** Whatever is written there but a no: a call that was not meant to be made must not be. */
function isDryRun ({ headers }: Call): boolean {
  const value = headers['x-headgate-dry-run']
  return value !== undefined && !['false', '0', 'no'].includes(String(value).trim().toLowerCase())
}

function decisionOn (
  { record, routes, providerKey }: RoutedCall<unknown>, { providers, health }: RoutingServices, pick: (provider: Provider) => unknown
): Reply {
  record.dryRun = true
  const decision = decide({
    requested: record.requestedModel ?? '',
    routes,
    health: providerKey === undefined ? health : new RouteHealth(),
    serves: ({ providerId }) => {
      const provider = providers.get(providerId)
      return provider !== undefined && pick(provider) !== undefined
    }
  })
  return {
    status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(decision)
  }
}
