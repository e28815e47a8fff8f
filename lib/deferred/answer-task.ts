/** Answers a deferred call that the gateway runs itself, out of its store. */

import { startDeadline } from '../async/start-deadline.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { usageLimits, type KeyLimits } from '../core/key.ts'
import { CallRecord, noteError } from '../core/record.ts'
import type { AuthedCall, Call } from '../core/call.ts'
import type { ChatInput, RoutedChatCall } from '../chat/input.ts'
import type { Reply } from '../core/reply.ts'
import type { Settings } from '../core/settings.ts'
import type { Keys } from '../keys/keys.ts'
import type { StoredAnswer } from './deferred-store.ts'

interface TaskServices {
  readonly keys: Keys
  readonly settings: Settings
}

/** A stored call, as JSON: what is needed to run it, without any credential. */
export interface DeferredTask {
  readonly id: string
  readonly key: RoutedChatCall['key']
  readonly request: ChatInput
  readonly routes: RoutedChatCall['routes']
}

export interface TaskEvents {
  readonly onStart: (call: Call) => void
  readonly onEnd: (call: Call) => void
}

/** The interval at which the key of a running call is checked: that at which keys are read. */
const keyCheckMs = 1000

/**
 * Runs a stored call as it would have been run at once, for as long as its key is good: with a key
 * that was revoked or has expired nothing more is spent.
 *
 * @param answer the pipeline that answers a routed call
 * @param events `onStart` is called with every call that begins, `onEnd` when it has ended
 * @returns the answer, error answers included; rejects with the signal's reason when that aborts
 */
export function createTaskAnswerer (
  services: TaskServices, answer: (call: RoutedChatCall) => Promise<Reply>, events: TaskEvents
): (task: string, signal: AbortSignal) => Promise<StoredAnswer> {
  return async (task, signal) => {
    const stored = JSON.parse(task) as DeferredTask // by us
    const revoked = new AbortController()
    const clock = startDeadline(services.settings.limits.callMs, AbortSignal.any([signal, revoked.signal]), new GatewayError('timeout'))
    const call = callOf(stored, limitsOf(stored, services), clock.signal)
    const checkKey = (): void => { if (!mayRun(services, call)) revoked.abort(new GatewayError('invalid_api_key')) }
    const keyChecks = setInterval(checkKey, keyCheckMs)
    events.onStart(call)
    try {
      checkKey()
      call.signal.throwIfAborted()
      const { status, body } = await answer(call)
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
      clock.end()
      clearInterval(keyChecks)
      events.onEnd(call)
    }
  }
}

/** The call was admitted by all limits when it was deferred; what it uses shows only now. */
function limitsOf ({ key }: DeferredTask, { keys, settings }: TaskServices): KeyLimits {
  const known = keys.find?.(key.id) ?? key
  return usageLimits(known.limits ?? settings.limits.defaultKeyLimits ?? {})
}

function mayRun ({ keys }: TaskServices, { key }: AuthedCall): boolean {
  const known = keys.find === undefined ? key : keys.find(key.id)
  return known !== undefined && known.endpoints?.includes('chat') !== false
}

function callOf ({ id, key, request, routes }: DeferredTask, limits: KeyLimits, signal: AbortSignal): RoutedChatCall {
  const record = new CallRecord('chat')
  record.keyId = key.id
  record.requestedModel = routes.map(route => route.modelId).join(', ')
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
