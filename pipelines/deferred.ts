/**
 * Deferred chat completions: fetching one, cancelling one, and running those that the gateway
 * answers itself. They are made by `chat`.
 */

import { pipe } from 'it-pipe'
import { createCallRecord, noteError } from '../lib/core/record.ts'
import { GatewayError, asGatewayError } from '../lib/core/errors.ts'
import { limitsOnUse, type KeyLimits } from '../lib/core/key.ts'
import { estimateChat } from '../lib/limits/estimate.ts'
import { onCall } from '../lib/replies/on-call.ts'
import { jsonReply } from '../lib/replies/json.ts'
import { once, map } from '../lib/core/stage.ts'
import { auth } from '../lib/stages/auth.ts'
import { collectDeferred, notFound, openTicket } from '../lib/stages/deferred/collect-deferred.ts'
import { limits, countUse } from '../lib/stages/limits.ts'
import { answerChat } from './chat.ts'
import type { DeferredCancelled } from '../schemas/completion.ts'
import type { AuthedCall, Call, RoutedCall } from '../lib/core/call.ts'
import type { ChatInput } from '../lib/chat/input.ts'
import type { StoredAnswer } from '../lib/deferred/deferred-store.ts'
import type { DeferredTask } from '../lib/stages/defer.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { Services } from '../lib/services.ts'

/** GET /v1/chat/deferred-completion/{request_id} */
export function retrieveDeferred (services: Services): (call: Call) => Promise<Reply> {
  const stages = [auth(services.keys), countUse<AuthedCall>(services)] as const
  const reply = onCall(collectDeferred(services))
  return async call => await pipe(once(call), ...stages, reply)
}

/** DELETE /v1/chat/deferred-completion/{request_id}: only what runs here can be called off. */
export function cancelDeferred ({ keys, deferrals, settings }: Services): (call: Call) => Promise<Reply> {
  const cancel = map(async (call: AuthedCall): Promise<DeferredCancelled> => {
    if (deferrals === undefined) throw notFound()
    const { id } = openTicket(call, deferrals, settings.deferred.keepMs)
    if (!await deferrals.store.cancel(id)) throw notFound('There is nothing left to cancel: it is done, or was cancelled, or is with the provider.')
    deferrals.events.emit('cancelled', id)
    return { request_id: call.params['request_id'] ?? '', status: 'cancelled' }
  })
  return async call => await pipe(once(call), auth(keys), cancel, jsonReply<DeferredCancelled>())
}

/** How often it is looked whether the key of a running call is still good: as often as keys are read. */
const keyCheckMs = 1000

/**
 * Runs a stored call as it would have been run at once, for as long as its key is good: with a key
 * that was revoked or has expired nothing more is spent.
 *
 * @param onEnd what is done with every call that has ended
 * @returns the answer, be it an error; rejects with the signal's reason when that aborts
 */
export function runDeferred (
  services: Services, onEnd: (call: Call) => void
): (task: string, signal: AbortSignal) => Promise<StoredAnswer> {
  const allowed = limits<RoutedCall<ChatInput>>(services, estimateChat, { patient: true })
  const answer = answerChat(services)
  return async (task, signal) => {
    const stored = JSON.parse(task) as DeferredTask // by us
    const end = new AbortController()
    const call = callOf(stored, limitsOf(stored, services), AbortSignal.any([signal, end.signal]))
    const timer = setTimeout(() => end.abort(new GatewayError('timeout')), services.settings.limits.callMs)
    const checkKey = (): void => { if (!mayRun(services, call)) end.abort(new GatewayError('invalid_api_key')) }
    const look = setInterval(checkKey, keyCheckMs)
    try {
      checkKey()
      call.signal.throwIfAborted()
      const { status, body } = await pipe(once(call), allowed, answer)
      if (typeof body !== 'string') throw new GatewayError('internal_error', { cause: 'a deferred call was streamed' })
      call.record.status = status
      call.record.outcome = 'ok'
      return { status, body }
    } catch (error) {
      if (signal.aborted) {
        noteError(call.record, signal.reason)
        throw signal.reason
      }
      const failure = asGatewayError(error)
      noteError(call.record, failure)
      call.record.status = failure.status
      return { status: failure.status, body: JSON.stringify(failure.toBody()) }
    } finally {
      clearTimeout(timer)
      clearInterval(look)
      onEnd(call)
    }
  }
}

/** The call was let in when it was deferred, by all limits; what it uses shows only now. */
function limitsOf ({ key }: DeferredTask, { keys, settings }: Services): KeyLimits {
  const known = keys.find?.(key.id) ?? key
  return limitsOnUse(known.limits ?? settings.limits.defaultKey ?? {})
}

function mayRun ({ keys }: Services, { key }: AuthedCall): boolean {
  const known = keys.find === undefined ? key : keys.find(key.id)
  return known !== undefined && known.endpoints?.includes('chat') !== false
}

function callOf ({ id, key, request, routes }: DeferredTask, limits: KeyLimits, signal: AbortSignal): RoutedCall<ChatInput> {
  const record = { ...createCallRecord('chat'), keyId: key.id, requestedModel: routes.map(route => route.modelId).join(', ') }
  return {
    id,
    headers: {},
    params: {},
    body: async () => undefined,
    signal,
    receivedAtMs: performance.now(),
    record,
    key: { ...key, limits },
    request,
    routes
  }
}
