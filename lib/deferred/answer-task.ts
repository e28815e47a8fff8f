import { copyCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { requireGuards } from '../guards/guard-scope.ts'
import { printText } from '../json/print-in-slices.ts'
import { parseText } from '../json/parse-text.ts'
import { runDetached, type CallListener, type DetachedServices } from './run-detached.ts'
import { completionTooLarge } from './stored-reply.ts'
import type { ChatInput, RoutedChatCall } from '../chat/input.ts'
import type { KeptAttribution } from '../core/call-attribution.ts'
import type { Reply } from '../core/reply.ts'
import type { TextGuards } from '../guards/text-guards.ts'
import type { StoredAnswer } from './deferred-store.ts'

/** A stored call, as JSON: everything needed to run it, without credentials. */
export interface DeferredTask {
  readonly id: string
  readonly key: RoutedChatCall['key']
  readonly request: ChatInput
  /** The guards that the caller named. Absent in tasks of earlier versions. */
  readonly requestedStages?: readonly string[] | undefined
  /** Absent in tasks of earlier versions. */
  readonly requestedNames?: readonly string[] | undefined
  readonly routes: RoutedChatCall['routes']
  readonly attribution?: KeptAttribution
  /** The placeholders of its request with their values, sealed. Absent: none. */
  readonly placeholders?: string | undefined
}

/** The guards that inspect the answer. Absent: none. */
interface TaskServices extends DetachedServices {
  readonly textGuards?: TextGuards | undefined
}

/**
 * Runs a stored call as it would have run immediately.
 *
 * @param answer the pipeline that answers a routed call
 * @returns the answer, including error answers; rejects with the signal's reason when that aborts
 */
export function createTaskAnswerer (
  services: TaskServices, answer: (call: RoutedChatCall) => Promise<Reply>, events: CallListener
): (task: string, signal: AbortSignal) => Promise<StoredAnswer> {
  return async (task, signal) => {
    const {
      request, requestedStages: requestedGuards, requestedNames, routes, placeholders: sealed, ...admitted
    } = await parseText(task) as DeferredTask // written by this program
    try {
      return await runDetached(
        services,
        'chat',
        { ...admitted, routes, bodyBytes: task.length },
        signal,
        events,
        async call => {
          if (requestedGuards !== undefined) requireGuards(requestedGuards, services.settings)
          call.record.bodies?.takeRequest([Buffer.from(await printText(request))])
          if (sealed !== undefined) {
            call.record.guards.placeholders = services.textGuards?.reversible?.open(call.key, sealed)
          }
          const reply = await answer(copyCall(call, {
            request,
            requestedGuards,
            routes,
            ...requestedNames !== undefined && { requestedNames }
          }))
          const { status, body } = call.record.bodies?.watch(reply) ?? reply
          if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
            throw new GatewayError('internal_error', { cause: 'a deferred call was streamed' })
          }
          const sealedNow = call.record.guards.placeholders?.sealed()
          return {
            status,
            body: textWithin(body, services.settings.limits.storedBodyBytes),
            ...sealedNow !== undefined && { placeholders: sealedNow }
          }
        }
      )
    } catch (error) {
      if (signal.aborted || !(error instanceof GatewayError)) throw error // a task that can never run
      return { status: error.status, body: JSON.stringify(error.toBody()) }
    }
  }
}

/** @throws GatewayError `file_too_large` */
function textWithin (body: string | Uint8Array, maxBytes: number): string {
  if (Buffer.byteLength(body) > maxBytes) throw completionTooLarge(maxBytes)
  return typeof body === 'string'
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()
}
