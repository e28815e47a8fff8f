import { pipeline, type Handler } from './pipeline.ts'
import { KeyStatus } from '../schemas/key-status.ts'
import { steadyNow } from '../lib/async/steady-clock.ts'
import { noteAttribution } from '../lib/validation/attribution.ts'
import { projectNamesOf } from '../lib/core/key.ts'
import { unknownCaller } from '../lib/core/call-attribution.ts'
import { toJsonReply } from '../lib/core/reply.ts'
import { limitedParties } from '../lib/limits/call-accounts.ts'
import { limitStatuses } from '../lib/limits/key-status.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { auth } from '../lib/stages/auth.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import type { Docs } from './docs.ts'

export const keyDocs: Docs = {
  operationId: 'key',
  group: 'Service',
  summary:
    'Describe the key of the call: what it may use, its limits and what is left of them.',
  admitsEveryKey: true,
  answers: [{ description: 'The key, without its secret.', schema: KeyStatus }]
}

export type KeyServices = Pick<Services, 'keys' | 'limiter' | 'settings' | 'recordRules' | 'namedBudgets'>

/** Serves GET /v1/key: describes any key to itself. */
export function describeKey (services: KeyServices): Handler<Call> {
  return pipeline(
    auth(services, { admitsEveryKey: true }),
    replyWith(async (call: AuthedCall) => toJsonReply(await keyStatusOf(services, call)))
  )
}

/** Returns what the key of a call may use, with its limits and the rest of each. */
export async function keyStatusOf (
  { limiter, settings, namedBudgets }: Pick<KeyServices, 'limiter' | 'settings' | 'namedBudgets'>,
  { key, record, headers }: AuthedCall
): Promise<KeyStatus> {
  const caller = { ...unknownCaller, digestEndUser: record.caller.digestEndUser }
  noteAttribution(undefined, { headers, record: { caller, request: {} } })
  const named = await namedBudgets?.partiesOf(
    { key, record: { caller } }, steadyNow(), { mayBeAnonymous: true }
  ) ?? []
  const limits = await limitStatuses(
    limiter,
    [...limitedParties(key, settings.limits.defaultKeyLimits), ...named],
    record.cost.isHidden
  )
  const [projectId, projectName] = projectNamesOf(key)
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    project: { id: projectId, name: projectName },
    models: key.models === undefined ? null : [...key.models],
    endpoints: key.endpoints === undefined ? null : [...key.endpoints],
    expires_at: key.expiresAtMs === undefined ? null : Math.floor(key.expiresAtMs / 1000),
    limits: limits.map(limit =>
      limit.of === 'end_user' ? { ...limit, id: caller.endUser ?? limit.id } : limit
    )
  }
}
