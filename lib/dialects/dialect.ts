/**
 * Describes how callers speak to the gateway. The request of a dialect becomes a `ChatInput`, and its answer
 * is made of the events that every provider's answer becomes; all stages in between are the same
 * (`pipelines/conversation`).
 *
 * To add one, see `lib/RECIPES.md`.
 */

import type { Static, TObject, TSchema } from 'typebox'
import type { WithoutNulls } from '../../schemas/nullable.ts'
import type { ChatCall, ChatInput } from '../chat/input.ts'
import type { Batch } from '../core/batch.ts'
import type { Call, RoutedCall, ValidCall } from '../core/call.ts'
import type { DirectDialect, DirectRequest } from '../core/direct-request.ts'
import type { GatewayError } from '../core/errors.ts'
import type { ChatEvent, ResponseStart } from '../core/events.ts'
import type { ModelEntry } from '../core/model.ts'
import type { ProviderUse } from '../core/provider-use.ts'
import type { ProviderTraits } from '../core/provider-traits.ts'
import type { Quirks } from '../core/quirks.ts'
import type { Reply } from '../core/reply.ts'
import type { Route } from '../core/route.ts'
import type { JsonObject } from '../json/guards.ts'
import type { ReplaceText, PlaceTable } from '../json/place-table.ts'
import type { FramePrinter } from '../wire/frame-printer.ts'

/** @typeParam C what `encode` and `complete` need of the request in the caller's words. Default: nothing */
export interface Dialect<S extends TObject = TObject, C = unknown> extends AnswerDialect<C> {
  /** The request. */
  readonly schema: S
  /**
   * Makes a check that lets a call through unchanged when the lists of its request are within the bounds.
   *
   * @throws ValidationError with the list that is too long
   */
  readonly sizes: (bounds: ChatSizes) => (call: ValidCall<WireRequest<S>>) => ValidCall<WireRequest<S>>
  /**
   * Makes a conversation of a request. The promise of one is awaited.
   *
   * @throws ValidationError, GatewayError for what the schema cannot say
   */
  readonly input: (call: ValidCall<WireRequest<S>>) => DialectCall<C> | Promise<DialectCall<C>>
  /**
   * Fits a request to the provider and the model of one route. Default: every model gets the same.
   *
   * @throws GatewayError `unsupported_parameter` when this provider cannot take it: the next route is tried
   */
  readonly fit?: (request: ChatInput, target: FitTarget, context: C) => ChatInput
  /**
   * Answers a request for no tokens without a provider, where no route is at one of its own dialect. Default:
   * such a request is sent like any other.
   */
  readonly empty?: (call: DialectCall<C>) => Reply
  /**
   * Makes the request for a provider that speaks this dialect itself, of the caller's own words.
   *
   * @param call with the request as it is about to be sent: it may be limited further than the caller's
   * @returns `undefined` for one that has to be translated all the same
   * @throws GatewayError for what this caller may not ask this provider
   */
  readonly directRequest?: (
    call: RoutedCall<ChatInput>,
    target: FitTarget,
    context: C
  ) => DirectRequest | undefined
  /** The name by which providers say that they speak it. */
  readonly directDialect?: DirectDialect
  /**
   * Returns the call with other texts in its request, and in what the request takes from stored ones; the
   * same call where nothing is replaced. It may be called again for the same call.
   */
  readonly replaceTexts: (call: RoutedCall<ChatInput>, replace: ReplaceText) => RoutedCall<ChatInput>
  /**
   * Returns the call without what its answer would have beside its text, so that all of it can be changed:
   * log probabilities say what stood where a text is changed. Default: requests of this dialect cannot ask
   * for more.
   *
   * @throws GatewayError `unsupported_parameter` for a call that wants a spoken answer
   */
  readonly asTextAnswer?: (call: RoutedCall<ChatInput>) => RoutedCall<ChatInput>
  /** Returns true for a call that goes on after its caller has got a reply. Default: none does. */
  readonly runsLater?: (context: C) => boolean
  /** Returns true for a call whose answer is stored, to be fetched or continued. Default: none is. */
  readonly isStored?: (context: C) => boolean
  /**
   * Lists what a request in the caller's words has a provider do beside answering with its model. Default:
   * nothing.
   */
  readonly uses?: (context: C) => readonly ProviderUse[]
}

/** The provider and the model that a request is about to be sent to. */
export interface FitTarget {
  readonly route: Route
  /** The facts about its API. */
  readonly provider: ProviderTraits
  /** How it deviates from its dialect. */
  readonly quirks?: Quirks | undefined
  /** As the catalogue knows it. */
  readonly model: ModelEntry | undefined
  /** Returns what identifies the account there: a digest of the credential. */
  readonly account: () => string
}

/** The answering half of a dialect. */
export interface AnswerDialect<C = unknown> {
  /** Makes the printer of a streamed answer. */
  readonly encode: (start: AnswerStart<C>) => FramePrinter<ChatEvent>
  /**
   * Makes the answer in one piece of all its batches, the first included, or the promise of it; it is sent as
   * JSON.
   */
  readonly complete: (start: AnswerStart<C>, batches: readonly ChatBatch[]) => unknown
  /** Makes headers that answers of this dialect have. Default: none. */
  readonly headers?: (call: Call) => Readonly<Record<string, string>>
  /** Says where answers of providers of this dialect hold text. Default: none are passed on as they came. */
  readonly directTexts?: DirectTexts
  /** Says where answers hold text as their callers get them. Default: as `directTexts` says. */
  readonly printedTexts?: DirectTexts
  /** Returns the id of the stored response that a request continues. Default: it continues none. */
  readonly continues?: (context: C) => string | undefined
  /** True when the answer begins with the number of tokens of the prompt, which has to be estimated then. */
  readonly startsWithUsage?: boolean
}

/** The texts of answers in the form of a dialect. */
export interface DirectTexts {
  /** Those of a complete answer. */
  readonly answer: PlaceTable
  /** Those of a message of a stream. */
  readonly frames: PlaceTable
  /**
   * Returns the text that this message adds to (`key`), and the prefix of the keys of the texts that it
   * completes (`ends`).
   */
  readonly textOf: (
    type: string,
    message: JsonObject
  ) => { readonly key: string, readonly ends?: string | undefined }
}

/** Writes an error that comes before the head of an answer. `FramePrinter.fail` writes later ones. */
export type ErrorFormat = (failure: GatewayError, call: Call) => Reply & { readonly body: string }

/** A request of a dialect after `validate`. */
export type WireRequest<S extends TSchema> = WithoutNulls<Static<S>>

/** Bounds of one request, over all its messages. */
export interface ChatSizes {
  readonly chatMessages: number
  readonly chatParts: number
  readonly chatTools: number
}

/** A call after `input`. */
export type DialectCall<C> = ChatCall & { readonly context: C }

export type ChatBatch = Batch<ChatInput, ChatEvent>

/** The fields that `normalise` guarantees of the first event. */
export type AnswerHead = Required<Pick<ResponseStart, 'id' | 'model' | 'createdSeconds'>> & ResponseStart

/** The facts at the beginning of an answer. */
export interface AnswerStart<C = unknown> {
  readonly head: AnswerHead
  readonly call: RoutedCall<ChatInput>
  /** The route that answers. */
  readonly route: Route
  readonly context: C
}
