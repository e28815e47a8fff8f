import { EarlyReply } from '../../core/reply.ts'
import { copyCall, type AuthedCall } from '../../core/call.ts'
import { map, type Stage } from '../../pipeline/stage.ts'
import { pendingReply, storedReply } from '../../deferred/stored-reply.ts'
import { fetchCredential, notFound, openTicket } from '../../deferred/open-ticket.ts'
import { chatPrintedTexts } from '../../dialects/chat-completions/text-places.ts'
import { withRestoredTexts } from '../../replies/restored-texts.ts'
import { callerProviderKey } from '../../routing/provider-choice.ts'
import type { CompletionFetch } from '../../deferred/fetch-completion.ts'
import type { Services } from '../../services.ts'

type OpenServices = Pick<Services, 'deferrals' | 'providers' | 'settings' | 'textGuards'>

/** A request for a completion that a provider holds. */
export interface FetchCall extends AuthedCall {
  readonly fetch: CompletionFetch
}

/**
 * Resolves the id of a deferred completion: one call in, one out, with what is needed to fetch the completion
 * from its provider.
 *
 * @throws EarlyReply with what is stored: 200 with the completion; the error that the call itself would have
 *   got; 202 while the gateway has not run it
 * @throws GatewayError `deferred_completion_not_found` for an id that is unknown, expired, of another key, or
 *   made with another key of the provider
 */
export function openDeferred ({
  deferrals,
  providers,
  settings,
  textGuards
}: OpenServices): Stage<AuthedCall, FetchCall> {
  const { keepMs } = settings.deferred
  return map(async call => {
    if (deferrals === undefined) throw notFound()
    const { id, ticket } = openTicket(call, deferrals, keepMs)
    const stored = await deferrals.store.find(id, deferrals.store.now(), call.takeMemory)
    if (stored !== undefined && stored.state === 'done') {
      const reply = storedReply(stored)
      if (reply.status >= 400) call.record.end.outcome = 'error'
      const { reversible } = textGuards ?? {}
      const sealed = reversible && await deferrals.store.placeholders(id)
      throw new EarlyReply(
        reversible === undefined || sealed === undefined
          ? reply
          : withRestoredTexts(reply, reversible.open(call.key, sealed), chatPrintedTexts)
      )
    }
    const { upstream } = ticket
    if (upstream === undefined) {
      if (stored === undefined) throw notFound()
      throw new EarlyReply(pendingReply(call))
    }
    const callerKey = callerProviderKey(call.headers)
    const provider = providers.get(upstream.providerId)
    if (callerKey !== undefined) call.record.caller.usesOwnProviderKey = true
    if (provider?.adapters.deferred === undefined) throw notFound()
    const credential = fetchCredential(provider, callerKey, upstream.credential)
    if (credential === undefined) throw notFound()
    return copyCall(call, { fetch: { call, ticket, upstream, provider, credential, callerKey, id } })
  })
}
