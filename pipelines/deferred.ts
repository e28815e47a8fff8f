/** Deferred chat completions: fetching one and cancelling one. They are made by `chat`. */

import { map } from '../lib/core/stage.ts'
import { notFound, openTicket } from '../lib/deferred/ticket.ts'
import { deferredCompletion } from '../lib/replies/deferred-completion.ts'
import { jsonReply } from '../lib/replies/json.ts'
import { auth } from '../lib/stages/auth.ts'
import { countUse } from '../lib/stages/limits.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { Services } from '../lib/services.ts'
import type { DeferredCancelled } from '../schemas/completion.ts'

/** GET /v1/chat/deferred-completion/{request_id} */
export function retrieveDeferred (services: Services): Handler<Call> {
  return pipeline(auth(services), countUse(services), deferredCompletion(services))
}

/** DELETE /v1/chat/deferred-completion/{request_id}: only what runs here can be cancelled. */
export function cancelDeferred (services: Services): Handler<Call> {
  return pipeline(auth(services), map(cancel(services)), jsonReply())
}

function cancel ({ deferrals, settings }: Pick<Services, 'deferrals' | 'settings'>) {
  return async (call: AuthedCall): Promise<DeferredCancelled> => {
    if (deferrals === undefined) throw notFound()
    const { id } = openTicket(call, deferrals, settings.deferred.keepMs)
    if (!await deferrals.store.cancel(id)) throw notFound('There is nothing left to cancel: it is done, or was cancelled, or is with the provider.')
    deferrals.events.emit('cancelled', id)
    return { request_id: call.params['request_id'] ?? '', status: 'cancelled' }
  }
}
