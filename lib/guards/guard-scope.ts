/** Decides which calls a guard inspects: by `only` and `when`, or because it is requested by name. */

import { guardActionOf } from '../../schemas/config/guards.ts'
import { endpointsWhere } from '../../schemas/endpoints.ts'
import { GatewayError } from '../core/errors.ts'
import { projectNamesOf, type ApiKey } from '../core/key.ts'
import { idsOf } from '../core/route.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { GuardSettings, Settings } from '../core/settings.ts'

/** Returns whether a guard inspects a call. It also does if the key, its project or the request names it. */
export function inspects (
  guard: GuardSettings,
  { record, key, requestedGuards, routes }: RoutedCall<unknown>
): boolean {
  const { name, when, only: { endpoints, models } = {} } = guard
  if (key.guards?.includes(name) === true || requestedGuards?.includes(name) === true) return true
  if (when === 'asked' || !isForKey(guard, key)) return false
  if (endpoints !== undefined && !endpoints.some(one => one === record.endpoint)) return false
  return (
    models === undefined ||
    routes.flatMap(idsOf).some(modelId => models.some(pattern => isModel(modelId, pattern)))
  )
}

/** @throws GatewayError `stage_unavailable` if one of these guards is not configured */
export function requireGuards (names: readonly string[], { guards }: Pick<Settings, 'guards'>): void {
  const missing = names.find(name => !guards.some(guard => guard.name === name))
  if (missing === undefined) return
  throw new GatewayError('stage_unavailable', {
    message:
      `Calls of this key must be inspected by the guard \`${missing}\`, which is not in the configuration.`
  })
}

/**
 * Returns the endpoints at which a guard may mask or refuse request texts: all with texts, as soon as one
 * guard does more than report. Where a guard applies may depend on the key and the model of a call.
 */
export function inspectedEndpoints ({ guards }: Pick<Settings, 'guards'>): ReadonlySet<string> {
  return new Set(guards.some(guard => guardActionOf(guard) !== 'report') ? endpointsWhere('hasTexts') : [])
}

/** Returns true if requests with this key may name the guard. */
export function isForKey ({ only: { keys, projects } = {} }: GuardSettings, key: ApiKey): boolean {
  if (keys !== undefined && !keys.some(name => name === key.id || name === key.name)) return false
  return projects === undefined || projectNamesOf(key).some(name => projects.includes(name))
}

function isModel (modelId: Route['modelId'], pattern: string): boolean {
  return (
    pattern === modelId ||
    pattern === '*' ||
    (pattern.endsWith('/*') && modelId.startsWith(pattern.slice(0, -1)))
  )
}
