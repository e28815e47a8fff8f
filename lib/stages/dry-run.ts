/**
 * Ends a dry run (`X-Headgate-Dry-Run: true`) where the routes of a call are known: its answer is the
 * decision about them. What comes after this stage is for calls that are meant.
 */

import { decide } from '../routing/decision.ts'
import { RouteHealth } from '../routing/route-health.ts'
import { map, type Stage } from '../core/stage.ts'
import { serving } from './provider-call.ts'
import type { Call, RoutedCall } from '../core/call.ts'
import type { Capability } from '../providers/provider.ts'
import type { Reply } from '../core/reply.ts'
import type { Services } from '../services.ts'

type RoutingServices = Pick<Services, 'providers' | 'health'>

/** Not a failure: leaves a pipeline early, with the answer to give. */
class Decided extends Error {
  readonly reply: Reply

  constructor (reply: Reply) {
    super('a dry run has ended')
    this.reply = reply
  }
}

/**
 * One call in, the same call out, unless it is a dry run. The pipeline ends in `.catch(dryRunReply)`.
 *
 * @param capability what a provider must have to serve the endpoint
 */
export function dryRun<C extends RoutedCall<unknown>> (
  services: RoutingServices, capability: Capability
): Stage<C> {
  return map(call => {
    if (isDryRun(call)) throw new Decided(decisionOn(call, services, capability))
    return call
  })
}

/** @throws whatever else a pipeline has thrown */
export function dryRunReply (thrown: unknown): Reply {
  if (thrown instanceof Decided) return thrown.reply
  throw thrown
}

/** Whatever is written there but a no: a call that was not meant to be made must not be. */
function isDryRun ({ headers }: Call): boolean {
  const value = headers['x-headgate-dry-run']
  return value !== undefined && !['false', '0', 'no'].includes(String(value).trim().toLowerCase())
}

function decisionOn (
  { record, routes, providerKey }: RoutedCall<unknown>, { providers, health }: RoutingServices, capability: Capability
): Reply {
  record.dryRun = true
  const decision = decide({
    requested: record.requestedModel ?? '',
    routes,
    health: providerKey === undefined ? health : new RouteHealth(),
    serves: serving(providers, capability)
  })
  return {
    status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(decision)
  }
}
