/**
 * Ends a dry run (`X-Headgate-Dry-Run: true`) once the routes of a call are known, and answers with the
 * routing decision. Later stages see real calls only.
 */

import { endpointsWhere } from '../../schemas/endpoints.ts'
import { inspects } from '../guards/guard-scope.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import { noteIgnored } from '../core/record.ts'
import { accountDigest } from '../providers/credential.ts'
import { accountsOf } from '../routing/choose-routes.ts'
import { canServe, decide } from '../routing/decision.ts'
import { RoutingState } from '../routing/routing-state.ts'
import type { RoutedCall } from '../core/call.ts'
import { EarlyReply, toJsonReply, type Reply } from '../core/reply.ts'
import type { ReasoningReader } from '../providers/lost-reasoning.ts'
import type { Capability, Provider } from '../providers/provider.ts'
import { costNanoUsd } from '../usage/cost.ts'
import { budgetsOf } from '../limits/reservation-plan.ts'
import { dropUnpriced } from '../limits/unpriced.ts'
import type { Estimate, Estimator } from '../limits/estimate.ts'
import type { Route } from '../core/route.ts'
import { usageOfTokens, type Usage } from '../core/usage.ts'
import type { Services } from '../services.ts'
import type { RouteDecision } from '../../schemas/route-decision.ts'

type DryRunServices = Pick<Services, 'models' | 'providers' | 'routingState' | 'settings' | 'namedBudgets'>

/** The first candidate, as the reader of the reasoning in a request. */
export type RequestReader = Omit<ReasoningReader, 'direct' | 'provider'> & { readonly provider: Provider }

export type OmittedFields<R> = (request: R, reader: RequestReader) => Iterable<string>

export interface DryRunOptions<R> {
  /** Estimates a request, for its cost and for the prices it needs. Default: the cost is unknown. */
  readonly estimate?: Estimator<R>
  /** Lists the fields of a request that its first candidate would not get. Default: none. */
  readonly lost?: OmittedFields<R>
}

/**
 * Ends a dry run early: one call in, the same call out, unless it is a dry run.
 *
 * @param capability what a provider must support to serve the endpoint
 * @throws EarlyReply with the `RouteDecision` of a dry run; for a key with a budget, what `dropUnpriced`
 *   throws
 */
export function dryRun<R = unknown> (
  services: DryRunServices,
  capability: Capability,
  options: DryRunOptions<R> = {}
): PassThroughStage<RoutedCall<R>> {
  return map(<C extends RoutedCall<R>>(call: C): C => {
    const header = call.headers['x-headgate-dry-run']
    if (header === undefined || !isYes(header)) return call
    throw new EarlyReply(decisionOn(call, services, capability, options))
  })
}

/** Returns true for any value except `false`, `0` and `no`: when in doubt, no real call is made. */
function isYes (header: string | string[]): boolean {
  return !['false', '0', 'no'].includes(String(header).trim().toLowerCase())
}

function decisionOn<R> (
  call: RoutedCall<R>,
  { models, providers, routingState, settings, namedBudgets }: DryRunServices,
  capability: Capability,
  { estimate, lost }: DryRunOptions<R>
): Reply {
  const { record, providerKey, request } = call
  const budgets = budgetsOf(call, settings, namedBudgets)
  const routes = dropUnpriced(call, models, budgets, estimate?.(request, call.routes))
  record.request.isDryRun = true
  const [route] = routes
  const provider = providers.get(route.providerId)
  if (lost !== undefined && provider !== undefined) {
    const accounts =
      providerKey === undefined
        ? accountsOf(provider, routingState.credentials(route.providerId)?.size)
        : [accountDigest(provider, providerKey)]
    const reader = { provider, route, hasAccount: (digest: string) => accounts.includes(digest) }
    for (const field of lost(request, reader)) noteIgnored(record.request, field)
  }
  // models without settings share one
  const expected = new Map<Route['settings'], Usage | undefined>()
  const decision = decide({
    requested: record.request.requestedModel ?? '',
    routes,
    skipped: record.routing.unusedRoutes ?? [],
    routingState: providerKey === undefined ? routingState : new RoutingState(),
    keyId: call.key.id,
    canServe: canServe(providers, capability),
    expectedNanoUsd: route => {
      const { settings, modelId } = route
      if (estimate !== undefined && !expected.has(settings)) {
        expected.set(settings, tokenUsage(estimate(request, [route])))
      }
      const usage = expected.get(settings)
      return usage && costNanoUsd(usage, models.find(modelId)?.price)
    }
  })
  const { guards } = settings
  return toJsonReply({
    ...decision,
    ...guards.length > 0 && {
      stages: guards
        .filter(guard => isInspected(record.endpoint) && inspects(guard, call))
        .map(({ name, use, at }) => ({ name, use, at: [...at] }))
    }
  } satisfies RouteDecision)
}

function isInspected (endpoint: string): boolean {
  return endpointsWhere('hasTexts').some(name => name === endpoint)
}

/** Returns the tokens of a call billed by tokens. */
function tokenUsage ({ prompt, answer, units }: Estimate): Usage | undefined {
  return units === undefined ? usageOfTokens(prompt.typical, answer.typical) : undefined
}
