/**
 * The contracts of providers. A new provider implements `Adapter`, once for each kind of request that it
 * serves, and has a row in `providers/kinds`:
 *
 * 1. `request` makes a request of an `AdapterInput`.
 * 2. `read` chooses by status and headers how its response becomes events: a `BodyFormat`.
 * 3. `error` interprets any other response.
 *
 * `Provider` is what pipelines see: these adapters with its configuration, and a `Transport`, which is
 * `client/transport` unless the provider is in this process.
 *
 * Adapters are synchronous and pure: they can be tested from files, never wait and cannot leak a connection.
 * Only the transport does I/O.
 */

import type { EventSourceMessage } from 'eventsource-parser'
import type { CallerBody, CallSignal, RequestMedia } from '../core/call.ts'
import type { Propagation } from '../core/call-trace.ts'
import type { DirectRequest } from '../core/direct-request.ts'
import type { Route } from '../core/route.ts'
import type { Secret } from '../core/secret.ts'
import type { Usage } from '../core/usage.ts'
import type {
  ChatEvent, DirectDialect, EmbeddingsEvent, ImageEvent, ResultEvent, SpeechEvent, TranscriptEvent
} from '../core/events.ts'
import type { Authorize, Credential } from './credential.ts'
import type { Failure } from './provider-failure.ts'
import type { ChatInput, TextInput } from '../chat/input.ts'
import type { ImageEdit, ImageVariation } from '../images/input.ts'
import type { OcrPages, OcrInput } from '../ocr/input.ts'
import type { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import type { ImageRequest } from '../../schemas/images.ts'
import type { RecordingInput, SpeechInput } from '../audio/input.ts'
import type { ProviderTraits, Quirks } from '../core/provider-traits.ts'
import type { StreamDecoder } from '../wire/sse-decoder.ts'
import type { SlowStreamSettings, Timeouts } from '../core/settings.ts'

// Adapters: what a provider implements.

/** Translates one kind of request for a provider. The first three members are enough. */
export interface Adapter<R, E> {
  /**
   * Creates the request: `{ method: 'POST', path: '/chat/completions', headers: {…}, body: '{"model":…}' }`.
   * Called for each attempt: equal input gives an equal request.
   *
   * @throws GatewayError before anything is sent, if this provider cannot serve the request
   */
  readonly request: (input: AdapterInput<R>) => UpstreamRequest
  /**
   * Chooses from status and headers how to read the body of a successful response:
   * `{ as: 'json', read: value => events }`, or `{ as: 'events', reader, json }` for a stream.
   */
  readonly read: (head: UpstreamHead, input: AdapterInput<R>) => BodyFormat<E>
  /** Interprets any other response: `{ kind: 'rate_limit', message, retryAfterSeconds: 2 }`. */
  readonly error: (failure: UpstreamFailure, input: AdapterInput<R>) => Failure
  /** Returns the name that the caller gave to a rejected parameter. Absent: the provider's. */
  readonly callerParam?: (param: string, input: AdapterInput<R>) => string
  /**
   * Caller dialects that are passed through unchanged (`AdapterInput.direct`). Default: every request is
   * translated.
   */
  readonly directDialects?: readonly DirectDialect[]
  /** Splits a request that is too large for one upstream request; at least one part. Absent: never needed. */
  readonly split?: (input: AdapterInput<R>) => ReadonlyArray<AdapterInput<R>>
  /** Joins the answers of a split request. Default: each part has its own choices. */
  readonly join?: (parts: number) => Join<E>
  /** Creates the request that deletes a response. Absent if the provider stores none. */
  readonly deleteResponse?: (id: string) => UpstreamRequest
}

/** The input of an adapter for one route: the request with the route's settings merged in. */
export interface AdapterInput<R> {
  readonly request: R
  readonly route: Route
  /** How this provider deviates from its dialect, as data. */
  readonly quirks: Quirks
  readonly streamed: boolean
  /** True for a request of 1 MB or more: its body is serialised while it is sent. */
  readonly isLarge?: boolean
  /** The caller's body and its bytes, if kept. */
  readonly callerBody?: CallerBody | undefined
  /** Media taken out of the request; placeholders stand for them. */
  readonly media?: RequestMedia | undefined
  /** Returns the digest of the account that receives the request. Absent: unknown. */
  readonly account?: () => string
  /** True if another turn may use another account: encrypted reasoning is then labelled with this one. */
  readonly labelsReasoning?: boolean
  /**
   * The caller's own text, with the gateway's model and limits, if the provider speaks its dialect; sent
   * instead of `request`.
   */
  readonly direct?: DirectRequest | undefined
}

/** One HTTP request to a provider, without base URL and credential. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Appended to the provider's base URL: `/chat/completions`. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>)
}

/** Status and headers of a response. */
export interface UpstreamHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Reads a body. `read` and the stream readers throw `ProviderFailure` for an error in the body. */
export type BodyFormat<E> =
  | JsonFormat<E>
  | { readonly as: 'text', readonly read: (text: string) => E[] }
  /** The complete body, unparsed because it may be too large. */
  | { readonly as: 'bytes', readonly read: (bytes: Buffer) => E[] }
  | PieceFormat<E>
  | EventStreamFormat<E>

/** Reads a JSON body, parsed. */
export interface JsonFormat<E> {
  readonly as: 'json'
  /** @param bytes the raw body */
  readonly read: (value: unknown, bytes?: Buffer) => E[]
  /** Reads an event stream to its end, if one arrives without being requested. */
  readonly sse?: (() => StreamReader<E>) | undefined
}

/** Reads bytes as they arrive, such as sound; the first piece counts as visible output. */
export interface PieceFormat<E> {
  readonly as: 'pieces'
  readonly read: (piece: Uint8Array, into: E[]) => void
  /** Reads a body that begins like JSON, HTML or an event stream: the content type may be absent or wrong. */
  readonly text?: BodyFormat<E>
}

/** Reads an event stream, message by message. */
export interface EventStreamFormat<E> {
  readonly as: 'events'
  readonly reader: StreamReader<E>
  /** Reads JSON received instead of a stream. */
  readonly json: (value: unknown) => E[]
  /** Creates the decoder of another stream format. Default: server-sent events. */
  readonly decoder?: ((maxLength: number) => StreamDecoder) | undefined
}

/** Reads the messages of one event stream; keeps the state of one response. */
export interface StreamReader<E> {
  /** Appends the events of one message of the stream to `into`. Unknown messages give no events. */
  readonly read: (message: EventSourceMessage, into: E[]) => void
  /**
   * Appends the last events after the end of the stream.
   * @throws GatewayError `upstream_stream_interrupted` if the response is incomplete
   */
  readonly end: (into: E[]) => void
  /**
   * Returns the usage reported so far, which counts if the stream breaks off. Absent if the reader emits each
   * report immediately as an event.
   */
  readonly usageSoFar?: () => Usage | undefined
  /** True after the message that ends the response (`[DONE]`); the rest is not read. */
  readonly isDone: boolean
}

/** A response of any other status. */
export interface UpstreamFailure {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Parsed JSON, or the text. */
  readonly body: unknown
  /** The body as text, if read completely. */
  readonly text?: string
}

/** Joins the events of several upstream responses. */
export interface Join<E> {
  /** Takes the events of one part; appends those that can be sent now. */
  readonly read: (part: number, events: readonly E[], into: E[]) => void
  /** Appends the last events once every part has ended. */
  readonly end: (into: E[]) => void
}

// Capabilities: the kinds of request, each with the types of its adapter.

/** The request and event types of each capability. */
export interface Capabilities {
  readonly chat: { request: ChatInput, event: ChatEvent }
  /** Text completions. Chat-only providers get the prompt as a message (`prompt-as-message`). */
  readonly textCompletion: { request: TextInput, event: ChatEvent }
  /** A chat completion that is fetched later: the only event holds the provider's id. */
  readonly deferred: { request: ChatInput, event: ResultEvent<DeferralResult> }
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
  /** Used by guards; no endpoint has it. */
  readonly moderation: { request: ModerationInput, event: ResultEvent<readonly Moderation[]> }
}

/** The id of a deferred completion, or the completion if the provider returns it immediately. */
export type DeferralResult = string | { readonly completion: readonly ChatEvent[] }

/** Texts for a moderation model. */
export interface ModerationInput {
  readonly texts: readonly string[]
  /** Moderations are never streamed. */
  readonly stream?: false
}

/** Verdict on one text: the model's categories that apply, if any. */
export interface Moderation {
  readonly categories: readonly string[]
}

export type Capability = keyof Capabilities
export type RequestOf<C extends Capability> = Capabilities[C]['request']
export type EventOf<C extends Capability> = Capabilities[C]['event']
export type AdapterOf<C extends Capability> =
  Adapter<RequestOf<C>, EventOf<C>> & (C extends 'deferred' ? FetchDeferred : unknown)

export interface FetchDeferred {
  /** Fetches a completion by the provider's id: 202 until it exists, then the answer once, then an error. */
  readonly fetch: (upstreamId: string) => UpstreamRequest
}

/** The adapters of a provider, one for each capability it has. */
export type Adapters = { readonly [C in Capability]?: AdapterOf<C> }

// Providers: what pipelines see.

export interface Provider {
  /** The prefix of its models: `openai`. */
  readonly id: string
  /**
   * True if the configured credentials allow its use. Other providers only serve calls that bring their own
   * key (`X-Provider-Key`), and their models are not listed.
   */
  readonly enabled: boolean
  readonly transport: Transport
  /** Its keys, and the values of headers sent with every request. */
  readonly secrets: readonly Secret[]
  readonly authorize: Authorize
  readonly timeouts: Timeouts
  /** Minimum speed of a stream. Default: any, within the timeouts. */
  readonly slowStream?: SlowStreamSettings | undefined
  readonly retries: number
  /** Call and trace headers to pass on. Default: none. */
  readonly propagate?: Propagation
  /**
   * What to do when the client disconnects: abort the provider request, or read the answer to its end for
   * exact usage.
   */
  readonly onDisconnect: 'abort' | 'drain'
  readonly quirks: Quirks
  /** Facts about its API for code outside its adapters. */
  readonly traits: ProviderTraits
  readonly adapters: Adapters
}

export type Providers = ReadonlyMap<string, Provider>

// Transports: only for providers that are not reached over HTTP.

/**
 * Sends requests to a provider: over HTTP (`client/`) or in-process (`sandbox/`, `local/`).
 *
 * @throws GatewayError `upstream_unreachable`, `upstream_timeout`, `upstream_invalid_response` for invalid
 *   headers, or the signal's reason
 */
export interface Transport {
  /** Current load; absent for transports without connections. */
  readonly load?: () => TransportLoad
  readonly send: (request: UpstreamRequest, options: SendOptions) => Promise<UpstreamResponse>
}

export interface SendOptions {
  readonly signal: CallSignal
  readonly credential: Credential
  readonly timeouts: Timeouts
  readonly streamed: boolean
  /**
   * Key of the call: connections and CPU-heavy work are divided fairly between keys. Absent for requests
   * without a call.
   */
  readonly keyId?: string
  /** Headers that identify the call and trace of the request. */
  readonly trace?: Readonly<Record<string, string>> | undefined
  /**
   * The transport calls it when it writes the request. Until then the request ends with its caller, and is
   * not billed.
   */
  readonly onSent?: (() => void) | undefined
}

/** A response whose body may still arrive. */
export interface UpstreamResponse extends UpstreamHead {
  readonly body: UpstreamBody
}

/** Iterate it or read it completely, once. Breaking out of the iteration closes the connection. */
export interface UpstreamBody extends AsyncIterable<Uint8Array> {
  /**
   * Returns the complete body; a promise only if some is still to arrive.
   *
   * @param hold called with the size of each piece that is kept; if it throws, reading stops
   * @throws GatewayError `upstream_invalid_response` over `maxBytes`, or the error of `hold`; a promise
   *   rejects with the same errors
   */
  readonly buffer: (maxBytes: number, hold?: (bytes: number) => void) => Buffer | Promise<Buffer>
  /** Closes the connection and discards the rest. */
  readonly cancel: () => void
}

/** Current load of a transport, and refusals since its creation. */
export interface TransportLoad {
  readonly connections: number
  readonly waiting: number
  /** Requests that waited too long or found the queue full. */
  readonly refused: number
}
