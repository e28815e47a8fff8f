/** Describes how a call would be routed now: the models in order, and why. */

import { rankText } from '../core/explain-route.ts'
import type { UnusedRoute } from '../core/record.ts'
import type { Route } from '../core/route.ts'
import type { Capability, Providers } from '../providers/provider.ts'
import type { CredentialPool } from './credential-pool.ts'
import type { RoutingState, Cooldown } from './routing-state.ts'
import type { RouteCandidate, RouteDecision } from '../../schemas/route-decision.ts'

export interface DecisionInput {
  /** As written by the caller. */
  readonly requested: string
  /** Best first. */
  readonly routes: readonly Route[]
  readonly routingState: RoutingState
  readonly keyId: string
  /** Models that are not tried, with reasons. */
  readonly skipped?: readonly UnusedRoute[]
  /** Returns true if a route's provider serves the endpoint; others are never tried. */
  readonly canServe: (route: Route) => boolean
  /** Returns the expected cost of the call on a route, in billionths of a dollar. Default: unknown */
  readonly expectedNanoUsd?: (route: Route) => number | undefined
}

/** Decides without calling a provider or changing anything. Each call draws weights independently. */
export function decide ({
  requested,
  routes,
  routingState,
  keyId,
  skipped = [],
  canServe,
  expectedNanoUsd = () => undefined
}: DecisionInput): RouteDecision {
  const found = routes.map((route, index): Omit<RouteCandidate, 'rank'> => ({
    model: route.modelId,
    provider: route.providerId,
    ...route.ranked?.by === 'score' && {
      score: route.ranked.value,
      ...route.ranked.terms !== undefined && { terms: [...route.ranked.terms] }
    },
    ...costOf(expectedNanoUsd(route)),
    ...credentialsOf(routingState.credentials(route.providerId)),
    ...(canServe(route) ? stateOf(routingState.cooldown(route, keyId)) : { state: 'unsuitable' }),
    reason: rankText(route, index)
  }))
  const inState = (...states: Array<RouteCandidate['state']>) =>
    found.filter(({ state }) => states.includes(state))
  const unsuitable = skipped.map(({ route, reason }): Omit<RouteCandidate, 'rank'> => ({
    model: route.modelId, provider: route.providerId, state: 'unsuitable', reason
  }))
  const ordered = [
    ...inState('ready'),
    ...inState('rate_limited', 'circuit_open'),
    ...inState('unsuitable'),
    ...unsuitable
  ]
  return {
    object: 'route.decision',
    requested,
    candidates: ordered.map((candidate, index) => ({ rank: index + 1, ...candidate }))
  }
}

function costOf (nanoUsd: number | undefined): Pick<RouteCandidate, 'expected_cost_usd'> {
  return nanoUsd === undefined ? {} : { expected_cost_usd: nanoUsd / 1e9 }
}

function credentialsOf (pool: CredentialPool | undefined): Pick<RouteCandidate, 'credentials'> {
  return pool === undefined ? {} : { credentials: { ready: pool.ready, total: pool.size } }
}

function stateOf (cooldown: Cooldown | undefined): Pick<RouteCandidate, 'state' | 'origin' | 'until'> {
  if (cooldown === undefined) return { state: 'ready' }
  const { reason, origin, forMs } = cooldown
  return { state: reason, origin, ...forMs > 0 && { until: endTimeText(forMs) } }
}

/** Returns a predicate for routes whose provider has the capability. Other providers never get a request. */
export function canServe (providers: Providers, capability: Capability): (route: Route) => boolean {
  return ({ providerId }) => providers.get(providerId)?.adapters[capability] !== undefined
}

/** Returns the end of a cooldown as an ISO date. */
export function endTimeText (forMs: number): string {
  return new Date(Date.now() + forMs).toISOString()
}
