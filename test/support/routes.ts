/** Routes, a clock set by hand, and failures, for tests of routing. */

import { GatewayError, type ErrorCode } from '../../lib/core/errors.ts'
import type { RoutingState } from '../../lib/routing/routing-state.ts'
import type { Ranked, Route } from '../../lib/core/route.ts'

/** Returns the route to a model, by its id. */
export function route (modelId: string, ranked?: Ranked): Route {
  const [providerId = '', model = ''] = modelId.split('/')
  return { providerId, model, modelId, ...ranked !== undefined && { ranked } }
}

/** Returns a clock that is set by hand. */
export function clock (): { now: () => number, pass: (ms: number) => void } {
  let ms = 1000
  return { now: () => ms, pass: more => { ms += more } }
}

/** Replays one failing attempt. */
export function fail (
  health: RoutingState,
  failing: Route,
  code: ErrorCode = 'upstream_error',
  keyId = 'key-1'
): void {
  const attempt = health.begin(failing, keyId)
  health.failed(failing, attempt, new GatewayError(code))
  health.ended(failing, attempt)
}
