/**
 * A format in which callers speak to the gateway. Its requests become a `ChatInput`, and its answers are
 * created from events; all stages in between are shared (`pipelines/conversation`).
 *
 * To add a dialect, see `lib/RECIPES.md`.
 */

import type { Static, TObject, TSchema } from 'typebox'
import type { WithoutNulls } from '../../schemas/nullable.ts'
import type { ChatCall, ChatInput } from '../chat/input.ts'
import type { Batch, Call, RoutedCall, ValidCall } from '../core/call.ts'
import type { DirectRequest } from '../core/direct-request.ts'
import type { GatewayError } from '../core/errors.ts'
import type { ChatEvent, DirectDialect, AnswerStartEvent } from '../core/events.ts'
import type { ModelEntry } from '../core/model.ts'
import type { ProviderUse } from '../core/provider-use.ts'
import type { ProviderTraits, Quirks } from '../core/provider-traits.ts'
import type { Reply } from '../core/reply.ts'
import type { Route } from '../core/route.ts'
import type { JsonObject } from '../json/type-guards.ts'
import type { ReplaceText, PlaceTable } from '../json/place-table.ts'
import type { FramePrinter } from '../wire/sse-frames.ts'

/** @typeParam C what `encode` and `complete` need from the original request. Default: nothing */
export interface Dialect<S extends TObject = TObject, C = unknown> extends AnswerDialect<C> {
  /** The request. */
  readonly schema: S
  /**
   * Creates a check that returns the call unchanged if the lists of its request are within the limits.
   *
   * @throws ValidationError with the list that is too long
   */
  readonly sizes: (bounds: ChatSizes) => (call: ValidCall<WireRequest<S>>) => ValidCall<WireRequest<S>>
  /**
   * Converts a request to a conversation.
   *
   * @throws ValidationError or GatewayError for rules that the schema cannot express
   */
  readonly input: (call: ValidCall<WireRequest<S>>) => DialectCall<C> | Promise<DialectCall<C>>
  /**
   * Adapts a request to the provider and model of a route. Default: no change.
   *
   * @throws GatewayError `unsupported_parameter` if this provider cannot serve it; the next route is tried
   */
  readonly fit?: (request: ChatInput, target: FitTarget, context: C) => ChatInput
  /**
   * Answers a request with `max_tokens: 0` without a provider, if no route speaks this dialect. Default: such
   * a request is sent like any other.
   */
  readonly empty?: (call: DialectCall<C>) => Reply
  /**
   * Returns the call with replaced texts in its request and in the stored items it uses; the same call if
   * nothing is replaced. May be called repeatedly for a call.
   */
  readonly replaceTexts: (call: RoutedCall<ChatInput>, replace: ReplaceText) => RoutedCall<ChatInput>
  /**
   * Removes from the request what its answer would contain in addition to text, so that all of it can be
   * rewritten: log probabilities would reveal replaced text. Default: requests of this dialect have nothing
   * to remove.
   *
   * @throws GatewayError `unsupported_parameter` if audio output is requested
   */
  readonly asTextAnswer?: (call: RoutedCall<ChatInput>) => RoutedCall<ChatInput>
  /** Default: answers are not stored. */
  readonly stored?: StoredAnswers<C>
}

/** The part of a dialect for providers that speak it too: they get the caller's own text. */
export interface DirectRequests<C = unknown> {
  /** The name under which providers declare that they speak it. */
  readonly dialect: DirectDialect
  /**
   * Creates the request, from the caller's own text.
   *
   * @param call with the request about to be sent: it may have lower limits than the caller's
   * @returns `undefined` if it must be translated nevertheless
   * @throws GatewayError for what this caller may not request from this provider
   */
  readonly request: (
    call: RoutedCall<ChatInput>,
    target: FitTarget,
    context: C
  ) => DirectRequest | undefined
  /** Lists provider resources that the request uses in addition to the model. */
  readonly uses: (context: C) => readonly ProviderUse[]
  /** Where the answers of these providers hold text. */
  readonly texts: DirectTexts
}

/** The part of a dialect whose answers are stored, to be fetched or continued. */
export interface StoredAnswers<C> {
  /** Returns the id of the stored response that a request continues. */
  readonly continues: (context: C) => string | undefined
  /** Returns true if the answer is stored. Default: false. */
  readonly isStored?: (context: C) => boolean
  /** Returns true if the call continues after its caller got a reply. Default: false. */
  readonly runsLater?: (context: C) => boolean
}

/** The provider and model that a request is about to be sent to. */
export interface FitTarget {
  readonly route: Route
  /** Facts about its API. */
  readonly provider: ProviderTraits
  /** How it deviates from its dialect. */
  readonly quirks?: Quirks | undefined
  /** The catalogue's entry. */
  readonly model: ModelEntry | undefined
  /** Returns a digest of the credential, which identifies the account. */
  readonly account: () => string
  /** Called with a field that has no effect, in part or at all. */
  readonly onIgnored?: (field: string) => void
}

/** The part of a dialect that writes answers. */
export interface AnswerDialect<C = unknown> {
  /** Creates the printer of a streamed answer. */
  readonly encode: (start: AnswerStart<C>) => FramePrinter<ChatEvent>
  /** Creates a complete answer from all its batches, including the first; it is sent as JSON. */
  readonly complete: (start: AnswerStart<C>, batches: readonly ChatBatch[]) => unknown
  /** Returns additional reply headers. Default: none. */
  readonly headers?: (call: Call) => Readonly<Record<string, string>>
  /** Default: no provider speaks this dialect, so every request and answer is translated. */
  readonly direct?: DirectRequests<C>
  /** Where answers hold text in the caller's format. Default: `direct.texts`. */
  readonly printedTexts?: DirectTexts
  /** True if answers start with the prompt's token count, which must then be estimated. */
  readonly startsWithUsage?: boolean
}

/** Where answers of a dialect hold text. */
export interface DirectTexts {
  /** In a complete answer. */
  readonly answer: PlaceTable
  /** In a stream message. */
  readonly frames: PlaceTable
  /**
   * Returns the text that this message appends to (`key`), and the key prefix of the texts that it completes
   * (`ends`).
   */
  readonly textOf: (
    type: string,
    message: JsonObject
  ) => { readonly key: string, readonly ends?: string | undefined }
}

/** Writes an error before the head of an answer was sent. `FramePrinter.fail` writes later ones. */
export type ErrorFormat = (failure: GatewayError, call: Call) => Reply & { readonly body: string }

/** A request of a dialect after `validate`. */
export type WireRequest<S extends TSchema> = WithoutNulls<Static<S>>

/** Limits per request, across all its messages. */
export interface ChatSizes {
  readonly chatMessages: number
  readonly chatParts: number
  readonly chatTools: number
}

/** A call after `input`. */
export type DialectCall<C> = ChatCall & { readonly context: C }

export type ChatBatch = Batch<ChatInput, ChatEvent>

/** The fields that `normalise` guarantees on the first event. */
export type AnswerHead =
  Required<Pick<AnswerStartEvent, 'id' | 'model' | 'createdSeconds'>> & AnswerStartEvent

/** What is known when an answer begins. */
export interface AnswerStart<C = unknown> {
  readonly head: AnswerHead
  readonly call: RoutedCall<ChatInput>
  /** The route that answers. */
  readonly route: Route
  readonly context: C
  /** Returns a text as the caller will see it, with its values restored. Default: unchanged. */
  readonly restore?: ReplaceText
}
