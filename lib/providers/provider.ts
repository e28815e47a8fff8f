/**
 * A provider as the pipelines see it: a transport that carries requests to it, and one adapter
 * per capability that translates both ways.
 *
 * Adapters are synchronous and pure, so they are tested from files, never wait and cannot leak a
 * connection. `attempts/send-request` and the transport do the I/O for all of them.
 */

import type { EventSourceMessage } from 'eventsource-parser'
import type { CallerBody, RequestMedia } from '../core/caller-body.ts'
import type { CallSignal } from '../core/call-signal.ts'
import type { Propagation } from '../core/call-trace.ts'
import type { DirectDialect, DirectRequest } from '../core/direct-request.ts'
import type { Route } from '../core/route.ts'
import type { Secret } from '../core/secret.ts'
import type { Usage } from '../core/usage.ts'
import type {
  ChatEvent, EmbeddingsEvent, ImageEvent, ResultEvent, SpeechEvent, TranscriptEvent
} from '../core/events.ts'
import type { Credential } from './credential.ts'
import type { Failure } from './provider-failure.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { ImageEdit, ImageVariation } from '../images/input.ts'
import type { OcrPages, OcrInput } from '../ocr/input.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import type { ImageRequest } from '../../schemas/images.ts'
import type { RecordingInput, SpeechInput } from '../audio/input.ts'
import type { ProviderTraits } from '../core/provider-traits.ts'
import type { Quirks } from '../core/quirks.ts'
import type { StreamDecoder } from '../wire/sse-reader.ts'
import type { SlowStreamSettings, Timeouts } from '../core/settings.ts'

/** The id of a deferred completion, or the completion itself, which a provider may give at once. */
export type DeferredReceipt = string | { readonly completion: readonly ChatEvent[] }

/** The input of an adapter for one route: the request with the route's settings merged in. */
export interface AdapterInput<R> {
  readonly request: R
  readonly route: Route
  /** The ways in which this target deviates from its dialect, as data. */
  readonly quirks: Quirks
  readonly streamed: boolean
  /** True for a request of a megabyte and more: its body is printed while it is sent. */
  readonly isLarge?: boolean
  /** The caller's body and its bytes, where they are kept. */
  readonly callerBody?: CallerBody | undefined
  /** Media of the request that short strings stand for. */
  readonly media?: RequestMedia | undefined
  /** Returns the digest of the account that it is for. Absent: not known. */
  readonly account?: () => string
  /** True where another turn may go to another account: encrypted reasoning then names this one. */
  readonly sealsReasoning?: boolean
  /** The request in the caller's words, where this provider speaks them: sent in place of `request`. */
  readonly direct?: DirectRequest | undefined
}

/** One HTTP request to a provider, without its address and its credential. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Appended to the provider's base URL: `/chat/completions`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>)
}

/** Reads the messages of one event stream; keeps the state of one response. */
export interface StreamReader<E> {
  /** Appends the events of one SSE message to `into`. Unknown messages give none. */
  readonly read: (message: EventSourceMessage, into: E[]) => void
  /**
   * Appends the last events, once the stream has ended.
   * @throws GatewayError `upstream_stream_interrupted` when the response is not complete.
   */
  readonly end: (into: E[]) => void
  /**
   * Returns the usage that was reported so far, which counts where the stream breaks off. Absent for a reader
   * that makes an event of each report at once.
   */
  readonly usageSoFar?: () => Usage | undefined
  /** True after the message that ends the response (`[DONE]`): the rest is not read. */
  readonly done: boolean
}

/** Reads a body. `read` and the stream readers throw a `ProviderFailure` for an error inside it. */
export type BodyReader<E> =
  | JsonReader<E>
  | { readonly as: 'text', readonly read: (text: string) => E[] }
  /** All bytes at once: a response too large to be parsed. */
  | { readonly as: 'bytes', readonly read: (bytes: Buffer) => E[] }
  /** Bytes as they arrive; the first piece counts as visible output. */
  | { readonly as: 'pieces', readonly read: (piece: Uint8Array, into: E[]) => void }
  | EventStreamReader<E>

/** Reads a stream of events. */
export interface EventStreamReader<E> {
  readonly as: 'sse'
  readonly reader: StreamReader<E>
  /** Reads one JSON text in its place. */
  readonly json: (value: unknown) => E[]
  /** Makes the decoder of a stream in another format. Default: that of server-sent events. */
  readonly decoder?: ((maxLength: number) => StreamDecoder) | undefined
}

/** Reads parsed JSON. */
export interface JsonReader<E> {
  readonly as: 'json'
  /** @param bytes those it came as */
  readonly read: (value: unknown, bytes?: Buffer) => E[]
  /** Reads an event stream that came without a request for it, to its end. */
  readonly sse?: (() => StreamReader<E>) | undefined
}

export interface Adapter<R, E> {
  /**
   * The dialects of callers that it sends on as they are (`AdapterInput.direct`). Default: every request is
   * translated.
   */
  readonly directDialects?: readonly DirectDialect[]
  /**
   * Makes the request. Called for each attempt: the same input gives the same request.
   *
   * @throws GatewayError for requests this provider cannot serve, before anything is sent
   */
  readonly request: (input: AdapterInput<R>) => UpstreamRequest
  /** Decides by the head of a successful response how its body is read. */
  readonly read: (head: UpstreamHead, input: AdapterInput<R>) => BodyReader<E>
  /** States what a status other than 2xx means. `body` is parsed JSON, else text. */
  readonly error: (failure: UpstreamFailure, input: AdapterInput<R>) => Failure
  /** Makes the request that deletes a response, where the provider keeps some. */
  readonly deleteResponse?: (id: string) => UpstreamRequest
  /** Returns the parts of a request that is too large for one, at least one; absent: it never is. */
  readonly split?: (input: AdapterInput<R>) => ReadonlyArray<AdapterInput<R>>
  /** Makes one answer of that many parts. Default: each part holds choices of its own. */
  readonly join?: (parts: number) => Join<E>
}

/** Puts the events of several upstream responses together. */
export interface Join<E> {
  /** Takes what was read of one part; appends what can go out at once. */
  readonly read: (part: number, events: readonly E[], into: E[]) => void
  /** Appends the last events, when every part has ended. */
  readonly end: (into: E[]) => void
}

export interface UpstreamFailure {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
  /** The body as text, if it was read to its end. */
  readonly text?: string
}

export interface UpstreamHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The answer head of a provider, and its body as it arrives. */
export interface UpstreamResponse extends UpstreamHead {
  readonly body: UpstreamBody
}

/** Iterate it or read it completely, once. Leaving the iteration early closes the connection. */
export interface UpstreamBody extends AsyncIterable<Uint8Array> {
  /**
   * Returns all of it; a promise only where not all of it is there.
   *
   * @param hold is called with the size of each piece that is kept; when it throws, the rest is not read
   * @throws GatewayError `upstream_invalid_response` over `maxBytes`, or what `hold` throws; or rejects with
   *   it
   */
  readonly buffer: (maxBytes: number, hold?: (bytes: number) => void) => Buffer | Promise<Buffer>
  /** Closes the connection; the rest is not wanted. */
  readonly cancel: () => void
}

export interface SendOptions {
  readonly signal: CallSignal
  readonly credential: Credential
  readonly timeouts: Timeouts
  readonly streamed: boolean
  /**
   * The key of the call: connections, and heavy work within the process, are shared out by it. Absent for
   * what the gateway sends for no call.
   */
  readonly keyId?: string
  /** Headers that say which call and trace the request belongs to. */
  readonly trace?: Readonly<Record<string, string>> | undefined
}

/** Counts what a transport does at the moment, and what it refused since it was made. */
export interface TransportLoad {
  readonly connections: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** Requests that waited too long or found the queue full. */
  readonly refused: number
}

/**
 * Carries requests to a provider: over HTTP (`client/`), or inside the process (`sandbox/`, `local/`).
 *
 * @throws GatewayError `upstream_unreachable`, `upstream_timeout`, `upstream_invalid_response` for a head
 *   that cannot be read, or the signal's reason.
 */
export interface Transport {
  /** Counts its connections; absent without any. */
  readonly load?: () => TransportLoad
  readonly send: (request: UpstreamRequest, options: SendOptions) => Promise<UpstreamResponse>
}

export interface Provider {
  /** The prefix of its models: `openai`. */
  readonly id: string
  /**
   * True when the gateway may use it with what the operator configured. The others serve only
   * calls that bring their own key (`X-Provider-Key`), and their models are not listed.
   */
  readonly enabled: boolean
  readonly transport: Transport
  /** Secrets: its key, and the values of the headers sent with every request. */
  readonly secrets: readonly Secret[]
  /**
   * Returns the credential for a request: the caller's own key if given, else the configured one. Equal
   * arguments give the same account.
   *
   * @param credential the index of the key, of several configured ones. Default: the first
   */
  readonly authorize: (callerKey?: string, credential?: number) => Credential
  readonly timeouts: Timeouts
  /** The slowest stream that is accepted. Default: any, within the timeouts. */
  readonly slowStream?: SlowStreamSettings | undefined
  readonly retries: number
  /** The headers of calls and traces that it gets. Default: none. */
  readonly propagate?: Propagation
  /**
   * The reaction to a client that disconnects: abort the provider request, or read the answer to its end for
   * exact usage.
   */
  readonly onDisconnect: 'abort' | 'drain'
  readonly quirks: Quirks
  /** Facts about its API for steps outside its adapters. */
  readonly traits: ProviderTraits
  readonly adapters: Adapters
}

/** The request and the events of each capability, by its name. */
export interface Capabilities {
  readonly chat: { request: ChatInput, event: ChatEvent }
  /** The continuation of a text. Providers that only chat get it as a message (`prompt-as-message`). */
  readonly textCompletion: { request: TextInput, event: ChatEvent }
  /** A chat requested now and produced later: the one event holds the provider's id of the completion. */
  readonly deferred: { request: ChatInput, event: ResultEvent<DeferredReceipt> }
  /** The tokens of a prompt. */
  readonly tokenCount: { request: ChatInput, event: ResultEvent<number> }
  readonly embeddings: { request: EmbeddingsRequest, event: EmbeddingsEvent }
  readonly images: { request: ImageRequest, event: ImageEvent }
  readonly imageEdits: { request: ImageEdit, event: ImageEvent }
  readonly imageVariations: { request: ImageVariation, event: ImageEvent }
  readonly ocr: { request: OcrInput, event: ResultEvent<OcrPages> }
  readonly speech: { request: SpeechInput, event: SpeechEvent }
  readonly transcription: { request: RecordingInput, event: TranscriptEvent }
  readonly translation: { request: RecordingInput, event: TranscriptEvent }
  /** Stages of the configuration ask for it; no endpoint does. */
  readonly moderation: { request: ModerationInput, event: ResultEvent<readonly Moderation[]> }
}

/** Texts for a model that says what is wrong with them. */
export interface ModerationInput {
  readonly texts: readonly string[]
  /** Moderations are never streamed. */
  readonly stream?: false
}

/** What is wrong with a text: nothing, or some of the model's categories. */
export interface Moderation {
  readonly categories: readonly string[]
}

export type Capability = keyof Capabilities
export type RequestOf<C extends Capability> = Capabilities[C]['request']
export type EventOf<C extends Capability> = Capabilities[C]['event']
export type AdapterOf<C extends Capability> =
  Adapter<RequestOf<C>, EventOf<C>> & (C extends 'deferred' ? FetchDeferred : unknown)

/** The adapters of a provider; one that is absent is a capability the provider does not have. */
export type Adapters = { readonly [C in Capability]?: AdapterOf<C> }

export interface FetchDeferred {
  /**
   * Requests a completion by the provider's id: 202 until it exists, its answer exactly once, then an error.
   */
  readonly fetch: (upstreamId: string) => UpstreamRequest
}

export type Providers = ReadonlyMap<string, Provider>
