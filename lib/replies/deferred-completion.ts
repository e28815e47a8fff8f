/** Gives a deferred completion out: from the store, or from the provider that has it. */

import { extend, type AuthedCall, type RoutedCall } from '../core/call.ts'
import { fetchCompletion, type CompletionFetch } from '../deferred/fetch-completion.ts'
import { credentialDigest, notFound, openTicket } from '../deferred/open-ticket.ts'
import { toCompletion } from '../dialects/chat-completions/complete.ts'
import { chain, once, type Sink } from '../core/stage.ts'
import { replyWith } from './reply-with.ts'
import { recordUsage } from '../stages/record-usage.ts'
import { normalise } from '../stages/normalise.ts'
import { parseResponse, readOrRefuse } from '../upstream/read-response.ts'
import { ownProviderKey } from '../routing/provider-choice.ts'
import { jsonHeaders, type Reply } from '../core/reply.ts'
import type { Route } from '../core/route.ts'
import type { Batch } from '../core/batch.ts'
import type { ChatEvent } from '../core/events.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Services } from '../services.ts'

/** Allowed in an answer: the number of choices that were requested is not kept. */
const maxChoices = 128

/**
 * Answers 200 with the completion, 202 while it is not there, and as the call itself would have
 * been served when it failed.
 *
 * 502 `deferred_result_lost` says that the provider has handed it out and it did not arrive.
 *
 * @throws GatewayError `deferred_completion_not_found` for an id that is unknown, expired or
 *   another key's, and whatever keeps the provider from saying
 */
export function deferredCompletion (
  { deferrals, providers, settings }: Pick<Services, 'deferrals' | 'providers' | 'settings'>
): Sink<AuthedCall, Reply> {
  const { keepMs } = settings.deferred
  return replyWith(async call => {
    if (deferrals === undefined) throw notFound()
    const { id, ticket } = openTicket(call, deferrals, keepMs)
    const kept = await deferrals.store.find(id, Date.now())
    if (kept !== undefined && kept.state === 'done') {
      const reply = storedReply(kept)
      if (reply.status >= 400) call.record.outcome = 'error'
      return reply
    }
    const { upstream } = ticket
    if (upstream === undefined) {
      if (kept === undefined) throw notFound()
      return pending(call)
    }
    const callerKey = ownProviderKey(call.headers)
    const provider = providers.get(upstream.providerId)
    if (callerKey !== undefined) call.record.ownProviderKey = true
    if (provider?.adapters.deferred === undefined || credentialDigest(provider, callerKey) !== upstream.credential) throw notFound()

    const fetch: CompletionFetch = { call, ticket, upstream, provider, callerKey, id }
    const answer = await fetchCompletion(fetch, deferrals, {
      keepMs, maxBytes: settings.limits.answerBytes, complete: async bytes => await completionOf(fetch, bytes)
    })
    return answer === undefined ? pending(call) : storedReply(answer)
  })
}

const normaliseAnswer = chain<Batch<ChatInput, ChatEvent>, Batch<ChatInput, ChatEvent>, Batch<ChatInput, ChatEvent>>(recordUsage(), normalise())

/** Makes the answer one of ours, through the same steps as any other. */
async function completionOf ({ call, ticket, upstream, provider }: CompletionFetch, bytes: Buffer): Promise<unknown> {
  const { adapters: { chat }, quirks } = provider
  if (chat === undefined) throw notFound()
  const route: Route = { providerId: upstream.providerId, model: upstream.model, modelId: ticket.modelId }
  const request: ChatInput = {
    model: route.modelId,
    messages: [],
    // All that the form of the answer depends on.
    n: maxChoices,
    ...upstream.legacy && { functions: [{ name: 'any' }] }
  }
  const reader = chat.read({ status: 200, headers: {} }, { request, route, quirks, streamed: false })
  if (reader.as !== 'json') throw new TypeError('a complete chat response is JSON')
  const events = readOrRefuse(() => reader.read(parseResponse(bytes.toString())))
  const routed: RoutedCall<ChatInput> = extend(call, { request, routes: [route] as const })
  const batches: Array<Batch<ChatInput, ChatEvent>> = []
  for await (const batch of normaliseAnswer(once({ call: routed, route, events }))) batches.push(batch)
  return toCompletion(batches)
}

function storedReply ({ status, body }: { readonly status: number | null, readonly body: string | null }): Reply {
  const isFinalError = status !== null && status >= 400
  return {
    status: status ?? 200,
    headers: isFinalError ? { ...jsonHeaders, 'x-should-retry': 'false' } : jsonHeaders,
    body: body ?? ''
  }
}

function pending ({ params, record }: AuthedCall): Reply {
  record.deferred = true
  return {
    status: 202,
    headers: { ...jsonHeaders, 'retry-after': '2' },
    body: JSON.stringify({ request_id: params['request_id'], status: 'pending' })
  }
}
