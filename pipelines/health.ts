/**
 * Is it there, and may calls be sent to it? `/health` tells people, with a key unless the
 * operator opened it; `/livez` and `/readyz` tell orchestrators, without a key, and say nothing
 * but the status.
 */

import { pipe } from 'it-pipe'
import type { Health, ProbeStatus } from '../schemas/health.ts'
import type { Call } from '../lib/core/call.ts'
import { jsonReply } from '../lib/replies/json.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'
import { once, map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'

/** What the process knows of itself. */
export interface ProcessState {
  /** True from the moment calls are accepted until shutting down begins. */
  readonly ready: () => boolean
  /** What does not work while calls go on: `keys` */
  readonly degraded?: () => readonly string[]
}

/** GET /health */
export function health (
  { settings, keys }: Pick<Services, 'settings' | 'keys'>,
  { degraded = () => [] }: ProcessState
): (call: Call) => Promise<Reply> {
  const check = map((): Health => {
    const parts = degraded()
    return parts.length === 0 ? { status: 'ok' } : { status: 'ok', degraded: [...parts] }
  })
  const reply = jsonReply<Health>()
  return settings.server.openHealth
    ? async call => await pipe(once(call), check, reply)
    : async call => await pipe(once(call), auth(keys), check, reply)
}

/** GET /livez: the process answers. */
export function livez (): (call: Call) => Promise<Reply> {
  const check = map((): ProbeStatus => ({ status: 'ok' }))
  return async call => await pipe(once(call), check, jsonReply<ProbeStatus>())
}

/** GET /readyz: calls are welcome; 503 before the start and while shutting down. */
export function readyz ({ ready }: ProcessState): (call: Call) => Promise<Reply> {
  const check = map((): ProbeStatus => ({ status: ready() ? 'ok' : 'unavailable' }))
  const reply = jsonReply<ProbeStatus>({ status: ({ status }) => status === 'ok' ? 200 : 503 })
  return async call => await pipe(once(call), check, reply)
}
