/**
 * Reports whether the service runs, and whether calls may be sent to it. `/health` is for people, with a key
 * unless the operator has opened it. `/livez` and `/readyz` are for orchestrators, without a key, and only
 * report the status.
 */

import { pipeline, type Handler } from './pipeline.ts'
import { Health, ProbeStatus, type ListedCooldown } from '../schemas/health.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import { mayUseModel } from '../lib/models/scope.ts'
import { endTimeText } from '../lib/routing/decision.ts'
import { jsonReply } from '../lib/replies/reply-with.ts'
import type { Services } from '../lib/services.ts'
import { map } from '../lib/pipeline/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import type { Docs } from './docs.ts'

export const healthDocs: Docs = {
  operationId: 'health',
  group: 'Service',
  summary: 'Report the state of the service.',
  answers: [{ description: 'The service runs; `degraded` lists the parts that do not work.', schema: Health }]
}

export const livezDocs: Docs = {
  operationId: 'livez',
  group: 'Service',
  summary: 'Liveness probe: the process responds.',
  answers: [{ description: 'The process is alive.', schema: ProbeStatus }],
  open: true
}

export const readyzDocs: Docs = {
  operationId: 'readyz',
  group: 'Service',
  summary: 'Readiness probe: the service accepts calls.',
  answers: [
    { description: 'Ready.', schema: ProbeStatus },
    { status: 503, description: 'The service is starting or shutting down.', schema: ProbeStatus }
  ],
  open: true
}

export interface ProcessState {
  /** True from the moment calls are accepted until shutdown begins. */
  readonly ready: () => boolean
  /** Names the parts that fail while calls continue: `keys`, `ledger`, `store`, `exports`. */
  readonly degraded?: (() => readonly string[]) | undefined
}

/** Serves GET /health */
export function health (
  services: Pick<Services, 'settings' | 'keys' | 'routingState'>,
  { degraded = () => [] }: ProcessState
): Handler<Call> {
  const state = (): Health => {
    const parts = degraded()
    return parts.length === 0 ? { status: 'ok' } : { status: 'ok', degraded: [...parts] }
  }
  if (services.settings.server.publicHealth) return pipeline(map(state), jsonReply())
  return pipeline(auth(services), map((call: AuthedCall): Health => {
    const cooldowns = listCooldowns(services, call)
    return cooldowns.length === 0 ? state() : { ...state(), cooldowns }
  }), jsonReply())
}

function listCooldowns (
  { routingState }: Pick<Services, 'routingState'>,
  { key }: AuthedCall
): ListedCooldown[] {
  return [...routingState.cooldowns(key.id)].flatMap(([name, { reason, origin, forMs }]) => {
    const [provider = '', isModel] = [name.split('/', 1)[0], name.includes('/')]
    if (!mayUseModel(key, isModel ? name : `${provider}/*`)) return []
    return [{ provider, ...isModel && { model: name }, reason, origin, until: endTimeText(forMs) }]
  })
}

/** Serves GET /livez: the process answers. */
export function livez (): Handler<Call> {
  return pipeline(map((): ProbeStatus => ({ status: 'ok' })), jsonReply())
}

/** Serves GET /readyz: 200 while calls are accepted; 503 before the start and during shutdown. */
export function readyz ({ ready }: ProcessState): Handler<Call> {
  return pipeline(
    map((): ProbeStatus => ({ status: ready() ? 'ok' : 'unavailable' })),
    jsonReply({ status: ({ status }: ProbeStatus) => status === 'ok' ? 200 : 503 })
  )
}
