/**
 * One API request in flight, independent of any HTTP framework.
 *
 * Each stage before the provider adds what it knows and returns a narrower type of call. A stage that needs
 * fields of an earlier stage therefore does not compile before it: `Call` → `AuthedCall` → `ValidCall<R>` →
 * `RoutedCall<R>`.
 */

import type { FitOptions, FittedRequest } from './direct-request.ts'
import type { CallRecord } from './record.ts'
import type { ApiKey } from './key.ts'
import type { Route } from './route.ts'
import type { UsageCost } from './usage.ts'
import { Secret } from './secret.ts'

export interface Call {
  /** Returned as `x-request-id`. Not unique: the caller may choose it. */
  readonly id: string
  /** Lower-case names, as in `node:http`. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The query as the caller wrote it, without the question mark; absent or empty if there is none. */
  readonly query?: string
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
  /**
   * Reads the body: parsed JSON, or an `UploadForm` for multipart; `undefined` where there is none. Nothing
   * is read before the first use, so the body of a caller without a key is never parsed. Call it at most
   * once.
   *
   * @throws GatewayError `invalid_json`, `too_many_values`, `file_too_large`, `unsupported_media_type`,
   *   `overloaded`, `request_timeout`, and the reason of `signal` once it has aborted
   */
  readonly body: () => Promise<unknown>
  /**
   * Returns the body with its bytes, once it has been read: only for endpoints with `keepsBodiesFromBytes`,
   * and not for large requests.
   */
  readonly callerBody?: () => CallerBody | undefined
  /**
   * Returns the media replaced by short placeholders in the parsed body, once it has been read: only for
   * endpoints with `keepsMedia`, and usually absent.
   */
  readonly media?: () => RequestMedia | undefined
  /**
   * Counts memory that the call takes in addition to its body, until it ends, in `limits.body_memory_bytes`.
   * Absent for a call that runs without a waiting caller.
   *
   * @throws GatewayError `overloaded`, `file_too_large`
   */
  readonly takeMemory?: (bytes: number) => void
  /**
   * Keeps the memory of the call counted after its end, for work that goes on without a caller, until the
   * returned function is called. Absent like `takeMemory`.
   *
   * @throws GatewayError `overloaded` if too little memory would stay free for other calls
   */
  readonly keepMemory?: () => () => void
  /** Ends the call with `timeout` this many milliseconds after its arrival, unless it ends sooner. */
  readonly shortenDeadline?: ((ms: number) => void) | undefined
  /** Absent if calls are not recorded, and for a call that runs without a waiting caller. */
  readonly journalAnswer?: JournalAnswer | undefined
  /**
   * Aborts when the call ends before its answer is written. Every request, timer and tool call ends with it.
   * The reason is a `GatewayError`: `client_closed_request`, `client_too_slow`, `timeout`, `shutting_down`,
   * or the error of the failed call. `standardSignal(call.signal)` returns an `AbortSignal`, for `fetch` and
   * similar APIs.
   */
  readonly signal: CallSignal
  /** `performance.now()` at arrival. */
  readonly receivedAtMs: number
  /** Only for endpoints with `readsConnection`. */
  readonly connection?: CallerConnection | undefined
  /** What is known about the call so far. */
  readonly record: CallRecord
}

export interface CallerConnection {
  /** The remote address, possibly that of a proxy. */
  readonly address: string | undefined
  /** True if TLS ends here. */
  readonly encrypted: boolean
}

export interface AuthedCall extends Call {
  readonly key: ApiKey
}

export interface ValidCall<R> extends AuthedCall {
  readonly request: R
  /** The request's options for the gateway itself; absent if there are none. */
  readonly options?: CallOptions | undefined
  /** Names of the guards that the request asks for; absent if there are none. */
  readonly requestedGuards?: readonly string[] | undefined
  /** The provider account with the stored state that the call continues; it is tried first. */
  readonly origin?: ProviderAccount | undefined
  /** Set and read by the caller's dialect: facts of the request that it needs for writing the answer. */
  readonly context?: unknown
}

/** A request's options for the gateway itself. */
export interface CallOptions {
  /** Models to try after those in the request. */
  readonly fallbacks: readonly string[]
  /** Maximum retries per model. Default: the provider's setting. */
  readonly maxRetries?: number | undefined
  /**
   * Returns the cost of this call, or of the call that does its work, once its answer has ended; `undefined`
   * if it is not recorded. Absent if the answer must not show the cost.
   */
  readonly usageCost?: ((call: Call) => UsageCost | undefined) | undefined
}

export interface ProviderAccount {
  readonly providerId: string
  /** A digest of its credential. */
  readonly account: string
}

export interface RoutedCall<R> extends ValidCall<R> {
  /** Best first, at least one; tried in order until one answers. */
  readonly routes: readonly [Route, ...Route[]]
  /**
   * Fits the request to a route before it is sent: returns the request for adapters, and a direct request if
   * the provider speaks the caller's dialect. Absent: every route gets the same.
   *
   * @throws GatewayError `unsupported_parameter` if the route's provider cannot take it
   */
  fit? (this: void, request: R, route: Route, options?: FitOptions): FittedRequest<R>
  /** The models and routes that the request names; absent if none. */
  readonly requestedNames?: readonly string[]
  /** Absent if calls of a session gain nothing from the same provider. */
  readonly session?: CallSession | undefined
  /** Digest of the account that encrypted reasoning of the history; preferred while it is available. */
  readonly reasoningAccount?: string
  /**
   * Resolves once the guards that run while the provider answers accept the request; rejects with the error
   * that refuses the call. Before that, no part of the answer may be passed on and no tool may run. Absent:
   * there are no such guards.
   */
  readonly requestAccepted?: Promise<void> | undefined
  /** The caller's own key at the provider (`X-Provider-Key`), used instead of the gateway's. */
  readonly providerKey?: Secret
}

/**
 * The events of one network read, and the call they answer. Stages loop over `events` with a plain `for` and
 * yield once per batch: an `await` per event would cost more than everything else done to the event.
 */
export interface Batch<R, E> {
  readonly call: RoutedCall<R>
  /** The route that answers: one of `call.routes`, the same in every batch of a call. */
  readonly route: Route
  readonly events: readonly E[]
}

/** Creates a call without an HTTP request: it runs later, or in parallel with another call. */
export function detachedCall (parts: Pick<AuthedCall, 'id' | 'key' | 'record' | 'signal'>): AuthedCall {
  return {
    ...parts,
    headers: {},
    params: {},
    body: async () => undefined,
    receivedAtMs: performance.now()
  }
}

/**
 * Returns the context that the `input` of the caller's dialect has set. The stages of a pipeline belong to
 * one dialect, so `C` is always the type of its context.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- known to each stage by its dialect
export function contextOf<C> ({ context }: Pick<ValidCall<unknown>, 'context'>): C {
  return context as C
}

/**
 * Adds or replaces fields of a call, and returns it with its new type: for stages after which nothing needs
 * the old call.
 */
export function updateCall<C extends object, F extends object> (call: C, fields: F): Omit<C, keyof F> & F {
  return Object.assign(call, fields)
}

/**
 * Returns a copy of the call with further or other fields: for work that runs alongside the call, or more
 * than once.
 */
export function copyCall<C extends object, F extends object> (call: C, fields: F): Omit<C, keyof F> & F {
  return Object.assign({}, call, fields)
}

/**
 * Journals a call before its caller can have the complete answer: the body of a complete one, the last frame
 * of a stream, and the storing of a response wait for the result.
 */
export type JournalAnswer = (call: Call) => Promise<void> | undefined

/**
 * Journals a call as soon as its request has left the queue for a connection. Nothing waits for it.
 *
 * @param isFree true for a request that costs nothing. Default: false
 */
export type JournalSent = (call: Call, isFree?: boolean) => void

/** The parsed body of a request, with its bytes. */
export interface CallerBody {
  /** Returns the text of the received bytes. */
  readonly text: () => string
  /** Prints an object. Lists and objects taken from the body are copied from its bytes. */
  readonly print: (object: object) => string | Uint8Array
}

/** The media of a large request. In its parsed body, short placeholders stand for them. */
export interface RequestMedia {
  /**
   * Returns the medium of a placeholder, as in the body but without escapes; `undefined` for any other text.
   */
  readonly bytesOf: (text: string) => Buffer | undefined
  /** Puts the media into JSON that was printed with placeholders. */
  readonly restore: (printed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>
}

/**
 * The part of an `AbortSignal` that stages use. `standardSignal` of `async/cancellation` returns a real one.
 */
export interface CallSignal {
  readonly aborted: boolean
  readonly reason: unknown
  readonly addEventListener: (
    type: 'abort',
    listener: AbortListener,
    options?: { readonly once?: boolean }
  ) => void
  readonly removeEventListener: (type: 'abort', listener: AbortListener) => void
  readonly throwIfAborted: () => void
}

/** A listener for an `EventTarget`; an object saves a closure for each signal. */
export type AbortListener = ((event?: unknown) => void) | { readonly handleEvent: () => void }

/** The session that a call belongs to. */
export interface CallSession {
  /** Differs between gateway keys. `undefined`: the call has no session. */
  readonly id: string | undefined
  /**
   * Returns a number from 0 up to but not including 1 for a name: always the same for a session, otherwise
   * random.
   */
  readonly draw: (name: string) => number
}
