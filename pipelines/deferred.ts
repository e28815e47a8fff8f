/** Deferred chat completions: fetches and cancels them. `chat` creates them. */

import { chain } from '../lib/pipeline/chain.ts'
import { map } from '../lib/pipeline/stage.ts'
import { notFound, openTicket } from '../lib/deferred/open-ticket.ts'
import { storedReply } from '../lib/deferred/stored-reply.ts'
import { jsonReply, replyWith } from '../lib/replies/reply-with.ts'
import { auth } from '../lib/stages/auth.ts'
import { fetchDeferred } from '../lib/stages/deferred/fetch-deferred.ts'
import { openDeferred } from '../lib/stages/deferred/open-deferred.ts'
import { countOnly } from '../lib/stages/count-only.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { ownKeyHeader } from '../lib/wire/openapi-headers.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { ChatInput } from '../lib/chat/input.ts'
import type { AuthedCall, Call } from '../lib/core/call.ts'
import type { ChatEvent } from '../lib/core/events.ts'
import type { Services } from '../lib/services.ts'
import { ChatCompletion, DeferredCancelled, DeferredPending } from '../schemas/chat-completion.ts'
import { providerErrors, type Docs } from './docs.ts'

export const retrieveDeferredDocs: Docs = {
  operationId: 'deferred-completion',
  group: 'Chat',
  summary: 'Fetch the answer to a chat call that was deferred.',
  answers: [
    { description: 'The answer.', schema: ChatCompletion },
    { status: 202, description: 'The answer is not ready yet.', schema: DeferredPending }
  ],
  requestHeaders: ownKeyHeader,
  errors: ['deferred_completion_not_found', 'deferred_result_lost', ...providerErrors],
  routed: true
}

export const cancelDeferredDocs: Docs = {
  operationId: 'cancel-deferred-completion',
  group: 'Chat',
  summary: 'Cancel a deferred call that this gateway runs itself and that is not complete.',
  answers: [{ description: 'The call is cancelled.', schema: DeferredCancelled }],
  errors: ['deferred_completion_not_found'],
  routed: true
}

/** Serves GET /v1/chat/deferred-completion/{request_id} */
export function retrieveDeferred (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    countOnly(services),
    openDeferred(services),
    fetchDeferred(services, chain(recordUsage<ChatInput, ChatEvent>(), normalise())),
    replyWith(storedReply)
  )
}

/** Serves DELETE /v1/chat/deferred-completion/{request_id}: only a call that runs here can be cancelled. */
export function cancelDeferred (services: Services): Handler<Call> {
  return pipeline(auth(services), map(cancel(services)), jsonReply())
}

function cancel ({ deferrals, settings }: Pick<Services, 'deferrals' | 'settings'>) {
  return async (call: AuthedCall): Promise<DeferredCancelled> => {
    if (deferrals === undefined) throw notFound()
    const { id } = openTicket(call, deferrals, settings.deferred.keepMs)
    if (!await deferrals.store.cancel(id)) {
      throw notFound(
        'The call cannot be cancelled: it is complete, already cancelled, or runs at the provider.'
      )
    }
    deferrals.events.emit('cancelled', id)
    return { request_id: call.params['request_id'] ?? '', status: 'cancelled' }
  }
}
