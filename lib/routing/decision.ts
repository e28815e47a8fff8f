/** Describes how a call would be routed: the models it would ask now, in order, and why. */

import { rankText } from '../core/explain-route.ts'
import type { FailedAttempt } from '../core/record.ts'
import type { Route } from '../core/route.ts'
import type { CredentialPool } from './credential-pool.ts'
import type { RouteHealth, Cooldown } from './route-health.ts'
import type { RouteCandidate, RouteDecision } from '../../schemas/route-decision.ts'

export interface DecisionInput {
  /** As the caller wrote it. */
  readonly requested: string
  /** Best first. */
  readonly routes: readonly Route[]
  readonly health: RouteHealth
  /** Id of the key whose call it is. */
  readonly keyId: string
  /** Models that are not tried, and why. */
  readonly skipped?: readonly FailedAttempt[]
  /** Returns true when the provider of a route serves the endpoint; others are never tried. */
  readonly canServe: (route: Route) => boolean
  /** Returns what the call is expected to cost with a route, in billionths of a dollar. Default: not known */
  readonly expectedNanoUsd?: (route: Route) => number | undefined
}

/** Decides without calling a provider or changing anything. Weights are drawn anew by every call. */
export function decide ({
  requested,
  routes,
  health,
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
    ...credentialsOf(health.credentials(route.providerId)),
    ...(canServe(route) ? stateOf(health.cooldown(route, keyId)) : { state: 'unsuitable' }),
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
  return { state: reason, origin, ...forMs > 0 && { until: untilOf(forMs) } }
}

/** Returns the end of a cooldown as a date. */
export function untilOf (forMs: number): string {
  return new Date(Date.now() + forMs).toISOString()
}
