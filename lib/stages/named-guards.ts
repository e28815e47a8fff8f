/** Finds the configured guards that keys, projects and requests name. */

import { ValidationError } from '../core/errors.ts'
import type { ValidCall } from '../core/call.ts'
import { isForKey, requireGuards } from '../guards/guard-scope.ts'
import { isObject } from '../json/type-guards.ts'
import { map, type PassThroughStage } from '../pipeline/stage.ts'
import type { Services } from '../services.ts'

/**
 * Adds the guards that a request names: one call in, the same call out, its request without `guardrails`.
 *
 * @throws GatewayError `stage_unavailable` where the key or its project requires a guard that is not
 *   configured; ValidationError where the request names one that its key cannot use
 */
export function namedGuards (
  { settings }: Pick<Services, 'settings'>
): PassThroughStage<ValidCall<object>> {
  return map(<T extends ValidCall<object>>(call: T): T => {
    const { key } = call
    if (key.guards !== undefined) requireGuards(key.guards, settings)
    if (!('guardrails' in call.request)) return call
    const { guardrails, ...request } = call.request
    const requestedGuards = [guardrails].flat().flatMap((one: unknown, index) => {
      const name = isObject(one) ? one['guardrail_name'] : one
      if (name === undefined) return []
      const found = settings.guards.find(guard => guard.name === name && isForKey(guard, key))
      if (found !== undefined) return found.name
      throw new ValidationError([{
        loc: ['body', 'guardrails', index],
        msg: 'Value error, must be the name of a guard of the configuration that this key may use',
        type: 'value_error'
      }])
    })
    // the same type of request: it only loses an optional field
    const fields = { request: request as T['request'], requestedGuards }
    return Object.assign(call, fields satisfies Partial<ValidCall<object>>)
  })
}
