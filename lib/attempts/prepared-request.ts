import { standardSignal } from '../async/cancellation.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import type { JournalSent, RoutedCall } from '../core/call.ts'
import { isLargeRequest } from '../core/request-size.ts'
import { accountDigest } from '../providers/credential.ts'
import { ProviderFailure } from '../providers/provider-failure.ts'
import { shareOf, sendParts } from './send-parts.ts'
import type { AbandonedAnswers } from './abandoned-answers.ts'
import { sendRequest, type SendContext, type UpstreamPart, type UpstreamTarget } from './send-request.ts'
import { usageIn, type AnyEvent, type OpenResponse } from './open-response.ts'
import type { RouteAttempt, UnusedRequest } from './route-attempt.ts'
import type { FitOptions } from '../core/direct-request.ts'
import type { AnswerEvent } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import type { AdapterInput, Provider } from '../providers/provider.ts'
import type { MissingApis } from '../routing/missing-apis.ts'

interface PreparedRequestOptions<R, E> extends UpstreamTarget<R, E> {
  readonly abandoned: AbandonedAnswers
  readonly journalSent: JournalSent | undefined
  /** True for token counts, which are free of charge. */
  readonly isFree: boolean
  readonly missingApis: MissingApis
}

type SentAttempt =
  Pick<RouteAttempt, 'credentialIndex' | 'span' | 'mayBeAtWork' | 'recordSent' | 'recordProviderStopped'>

interface AttemptContext extends SendContext {
  readonly attempt: SentAttempt
}

/**
 * The request of a call to one route. The adapter's input is built once and reused for retries. It is rebuilt
 * for another account, which cannot read reasoning encrypted for this one.
 */
export class PreparedRequest<
  R extends { readonly stream?: boolean | undefined },
  E extends AnyEvent & AnswerEvent
> {
  readonly provider: Provider
  /** True if the answer is read to its end even after its caller has left: `drain`, or under a budget. */
  readonly readsToEnd: boolean
  readonly #call: RoutedCall<R>
  readonly #route: Route
  readonly #options: PreparedRequestOptions<R, E>
  /** The parts of the request, by credential. */
  readonly #prepared = new Map<number | undefined, ReadonlyArray<UpstreamPart<R, E>>>()
  /**
   * True once the server has shown that it lacks the API of this request: the request is translated from then
   * on.
   */
  #mustTranslate = false

  constructor (call: RoutedCall<R>, route: Route, options: PreparedRequestOptions<R, E>) {
    const { provider } = options
    this.provider = provider
    this.readsToEnd = provider.onDisconnect === 'drain' || call.record.cost.reservedNanoUsd !== undefined
    this.#call = call
    this.#route = route
    this.#options = options
  }

  /**
   * Sends the request of an attempt.
   *
   * @param signal ends this request alone
   * @throws what `sendRequest` throws
   */
  send (attempt: SentAttempt, signal?: AbortSignal): Promise<OpenResponse<E>> {
    const call = this.#call
    const { credentialIndex, span } = attempt
    const { journalSent, isFree } = this.#options
    const context = {
      call, credentialIndex, span, attempt,
      onSent: () => {
        attempt.recordSent()
        journalSent?.(call, isFree)
      },
      signal: signal === undefined ? call.signal : AbortSignal.any([standardSignal(call.signal), signal])
    }
    if (this.#mustTranslate) return this.#openTranslated(context)
    const parts = this.#partsFor(credentialIndex)
    if (parts[0]?.input.direct === undefined) return this.#open(context, parts)
    // Not an `async` function, which would stay suspended until the provider answers.
    return this.#open(context, parts).then(opened => {
      this.#options.missingApis.noteServed(this.provider)
      return opened
    }, (error: unknown) => {
      if (!(error instanceof ProviderFailure) || error.failure.kind !== 'missing_api') throw error
      attempt.recordProviderStopped()
      this.#mustTranslate = true
      this.#prepared.clear()
      return this.#openTranslated(context)
    })
  }

  /**
   * Retries a refused direct request in translated form. The missing API is remembered for all callers only
   * if no caller's own key was used.
   */
  #openTranslated (context: AttemptContext): Promise<OpenResponse<E>> {
    return this.#open(context, this.#partsFor(context.credentialIndex)).then(opened => {
      if (this.#call.providerKey === undefined) this.#options.missingApis.noteMissing(this.provider)
      return opened
    })
  }

  /** Returns the successful parts of a split request that partly failed. */
  unusedParts (): readonly UnusedRequest[] {
    const answered = new Map<readonly E[], UnusedRequest>()
    for (const parts of this.#prepared.values()) {
      for (const { answer, input } of parts) {
        if (answer === undefined) continue
        answered.set(answer, { usage: usageIn(answer), share: shareOf(input, parts) })
      }
    }
    return [...answered.values()]
  }

  #open (context: AttemptContext, parts: ReadonlyArray<UpstreamPart<R, E>>): Promise<OpenResponse<E>> {
    if (!this.readsToEnd) return this.#send(context, parts)
    const { call: { record }, signal, attempt } = context
    return this.#options.abandoned.openOutlivingCaller({ record, signal }, attempt,
      own => this.#send({ ...context, signal: own }, parts))
  }

  #send (context: SendContext, parts: ReadonlyArray<UpstreamPart<R, E>>): Promise<OpenResponse<E>> {
    const [first] = parts
    return first !== undefined && parts.length === 1
      ? sendRequest(context, first.input, this.#options)
      : sendParts(context, parts, this.#options)
  }

  #partsFor (credentialIndex: number | undefined): ReadonlyArray<UpstreamPart<R, E>> {
    let parts = this.#prepared.get(credentialIndex)
    if (parts === undefined) {
      const isTranslated = this.#mustTranslate || this.#options.missingApis.isMissing(this.provider)
      const input = adapterInput(this.#call, this.#route, this.provider, { credentialIndex, isTranslated })
      parts = (this.#options.adapter.split?.(input) ?? [input]).map(part => ({ input: part }))
      this.#prepared.set(credentialIndex, parts)
    }
    if (this.#prepared.size === 1) return parts
    // Parts that were answered for another key are billed already: they are not sent again.
    const prepared = [...this.#prepared.values()]
    for (const [index, part] of parts.entries()) {
      part.answer ??= prepared.map(others => others[index]?.answer).find(answer => answer !== undefined)
    }
    return parts
  }
}

/** Creates the input of the route's adapter: the request with the settings of the route. */
function adapterInput<R extends { readonly stream?: boolean | undefined }> (
  call: RoutedCall<R>, route: Route, provider: Provider, options: FitOptions
): AdapterInput<R> {
  const fitted = call.fit?.(call.request, route, options)
  const given = fitted?.request ?? call.request
  const request = route.settings === undefined ? given : mergeSettings(given, route.settings)
  return {
    request, route,
    quirks: provider.quirks,
    account: () => accountDigest(provider, call.providerKey, options.credentialIndex),
    labelsReasoning: call.routes.length > 1 || options.credentialIndex !== undefined,
    direct: fitted?.direct,
    streamed: request.stream === true,
    isLarge: isLargeRequest(call.record.request),
    media: call.media?.(),
    callerBody: call.callerBody?.()
  }
}
