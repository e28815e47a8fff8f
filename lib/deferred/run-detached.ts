/**
 * Runs a call whose caller does not wait: with its own record and deadline, for as long as its key is valid.
 */

import { startDeadline } from '../async/start-deadline.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { usageLimits } from '../limits/call-accounts.ts'
import { CallRecord, noteError } from '../core/record.ts'
import { keptEndUser, type KeptAttribution } from '../core/call-attribution.ts'
import { detachedCall, type AuthedCall, type Call } from '../core/call.ts'
import type { EndpointName } from '../../schemas/endpoints.ts'
import type { ApiKey, PartyLimits } from '../core/key.ts'
import type { RecordRules } from '../core/record-rules.ts'
import type { Route } from '../core/route.ts'
import type { Secret } from '../core/secret.ts'
import type { Settings } from '../core/settings.ts'
import type { Keys } from '../keys/keys.ts'

export interface DetachedServices {
  readonly keys: Keys
  readonly settings: Settings
  readonly recordRules?: RecordRules | undefined
}

/** Facts of a call that was admitted earlier. */
export interface AcceptedCall {
  readonly id: string
  readonly key: ApiKey
  readonly routes: readonly Route[]
  /** The size of its request. */
  readonly bodyBytes: number
  /** The caller's own key at the provider. */
  readonly providerKey?: Secret
  /** Absent for a call that an earlier version admitted. */
  readonly attribution?: KeptAttribution | undefined
}

export interface CallListener {
  readonly onEnd: (call: Call) => void
}

/** The interval at which the key of a running call is checked: the one at which keys are read. */
const keyCheckMs = 1000

/**
 * Runs `work` with a call like the one that was admitted. Nothing more is spent with a key that was revoked
 * or has expired.
 *
 * @param listener `onEnd` is called with the call when it has ended and its usage is known
 * @param work returns the status of the answer, and any further result
 * @throws the reason of the signal when it was aborted; GatewayError for every other failure, already
 *   recorded
 */
export async function runDetached<T extends { readonly status: number }> (
  services: DetachedServices,
  endpoint: EndpointName,
  accepted: AcceptedCall,
  signal: AbortSignal,
  listener: CallListener,
  work: (call: AuthedCall) => Promise<T>
): Promise<T> {
  const revoked = new AbortController()
  const deadline = startDeadline(
    services.settings.limits.callMs,
    AbortSignal.any([signal, revoked.signal]),
    new GatewayError('timeout')
  )
  const call = callOf(endpoint, accepted, services, deadline.signal)
  const checkKey = (): void => {
    if (!mayRun(services, call)) revoked.abort(new GatewayError('invalid_api_key'))
  }
  const keyChecks = setInterval(checkKey, keyCheckMs)
  try {
    checkKey()
    call.signal.throwIfAborted()
    const done = await work(call)
    // A cancelled call may get here: under a budget its answer is read to the end, for the usage.
    if (isCancelled(signal)) throw signal.reason
    call.record.end.status = done.status
    call.record.end.outcome ??= 'ok'
    return done
  } catch (error) {
    if (signal.aborted) {
      noteError(call.record.end, signal.reason)
      throw signal.reason
    }
    const failure = asGatewayError(error)
    noteError(call.record.end, failure)
    call.record.end.status = failure.status
    throw failure
  } finally {
    deadline.end()
    clearInterval(keyChecks)
    const { end: { whenUsageKnown } } = call.record
    if (whenUsageKnown === undefined) listener.onEnd(call)
    // nobody waits for the rest of a cancelled answer
    else void whenUsageKnown.then(() => listener.onEnd(call))
  }
}

function isCancelled ({ reason }: AbortSignal): boolean {
  return reason instanceof GatewayError && reason.code === 'client_closed_request'
}

function mayRun ({ keys }: DetachedServices, { key, record }: AuthedCall): boolean {
  const known = keys.find === undefined ? key : keys.find(key.id)
  return known !== undefined && known.endpoints?.includes(record.endpoint) !== false
}

/** The call was counted as a request when it was accepted; tokens and budget are reserved when it runs. */
function callOf (
  endpoint: EndpointName,
  { id, key: admitted, routes, bodyBytes, providerKey, attribution = {} }: AcceptedCall,
  { keys, settings, recordRules = {} }: DetachedServices,
  signal: AbortSignal
): AuthedCall {
  const key = usageLimited(admitted, keys.find?.(admitted.id) ?? admitted, settings)
  const record = new CallRecord(endpoint)
  record.caller.keyId = key.id
  record.request.bodyBytes = bodyBytes
  record.trace = recordRules.beginTrace?.({})
  if (providerKey !== undefined) record.caller.usesOwnProviderKey = true
  record.bodies = recordRules.captureBodies?.(key, endpoint, record.trace)
  record.caller.digestEndUser = recordRules.digestEndUsers?.(key)
  const { hashed: _, ...names } = attribution
  Object.assign(record.caller, names, { endUser: keptEndUser(attribution, record.caller) })
  record.request.requestedModel = routes.map(route => route.modelId).join(', ')
  return detachedCall({ id, key, record, signal })
}

/**
 * Returns the key with its current project and owner, and of their current limits those that depend on usage.
 * Its guards are the current ones, and those at the time of admission that are still configured.
 */
function usageLimited (
  { project: _project, member: _member, guards: admittedGuards = [], ...admitted }: ApiKey,
  { limits, project, member, guards: presentGuards = [] }: ApiKey,
  { guards: configured, limits: { defaultKeyLimits = {} } }: Settings
): ApiKey {
  const remaining = admittedGuards.filter(name => configured.some(guard => guard.name === name))
  const guards = [...new Set([...presentGuards, ...remaining])]
  return {
    ...admitted,
    ...guards.length > 0 && { guards },
    limits: usageLimits(limits ?? defaultKeyLimits),
    ...project !== undefined && { project: usageLimitedParty(project) },
    ...member !== undefined && { member: usageLimitedParty(member) }
  }
}

function usageLimitedParty<P extends { readonly limits?: PartyLimits }> (party: P): P {
  return party.limits === undefined ? party : { ...party, limits: usageLimits(party.limits) }
}
