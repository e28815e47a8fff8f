import { EarlyReply } from '../../core/reply.ts'
import { copyCall } from '../../core/call.ts'
import { collect, once } from '../../pipeline/sources.ts'
import { map, type Stage } from '../../pipeline/stage.ts'
import { fetchCompletion, type CompletionFetch } from '../../deferred/fetch-completion.ts'
import { notFound } from '../../deferred/open-ticket.ts'
import { pendingReply } from '../../deferred/stored-reply.ts'
import { toCompletion } from '../../dialects/chat-completions/complete.ts'
import { parseResponseBytes, readOrRefuse } from '../../attempts/parse-response.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Route } from '../../core/route.ts'
import type { StoredAnswer } from '../../deferred/deferred-store.ts'
import type { ChatBatch } from '../../dialects/dialect.ts'
import type { Services } from '../../services.ts'
import type { FetchCall } from './open-deferred.ts'

/** Maximum choices in an answer: the requested number is not stored. */
const maxChoices = 128

/**
 * Fetches a completion: one call in, its answer out, which has been stored by then. 502
 * `deferred_result_lost` means that the provider has delivered it once and it did not arrive.
 *
 * @param finish turns the provider's answer into one of the gateway
 * @throws EarlyReply with 202 while there is no answer
 * @throws GatewayError `deferred_completion_not_found`, or the error that prevented the fetch
 */
export function fetchDeferred (
  { deferrals, settings, journalSent }: Pick<Services, 'deferrals' | 'settings' | 'journalSent'>,
  finish: Stage<ChatBatch>
): Stage<FetchCall, StoredAnswer> {
  const {
    deferred: { keepMs, maxBytesPerKey },
    limits: { answerBytes: maxBytes, storedBodyBytes: maxStoredBytes }
  } = settings
  return map(async ({ fetch }) => {
    if (deferrals === undefined) throw notFound()
    const answer = await fetchCompletion(fetch, deferrals, {
      keepMs,
      maxBytes,
      maxStoredBytes,
      maxBytesPerKey,
      onSent: () => journalSent?.(fetch.call, true),
      complete: async bytes => toCompletion(await collect(finish(once(await batchOf(fetch, bytes)))))
    })
    if (answer === undefined) throw new EarlyReply(pendingReply(fetch.call))
    return answer
  })
}

/** Reads the provider's answer. */
async function batchOf (
  { call, ticket, upstream, provider }: CompletionFetch,
  bytes: Buffer
): Promise<ChatBatch> {
  const {
    adapters: { chat },
    quirks
  } = provider
  if (chat === undefined) throw notFound()
  const route: Route = { providerId: upstream.providerId, model: upstream.model, modelId: ticket.modelId }
  const request: ChatInput = {
    model: route.modelId,
    messages: [],
    // Everything that the form of the answer depends on.
    n: maxChoices,
    ...upstream.legacy && { functions: [{ name: 'any' }] }
  }
  const reader = chat.read({ status: 200, headers: {} }, { request, route, quirks, streamed: false })
  if (reader.as !== 'json') throw new TypeError('a complete chat response is JSON')
  const value = await parseResponseBytes(bytes)
  const events = readOrRefuse(() => reader.read(value))
  return { call: copyCall(call, { request, routes: [route] as const }), route, events }
}
