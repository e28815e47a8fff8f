/**
 * One API request in flight, free of any HTTP framework.
 *
 * Each stage before the provider adds what it knows and returns a narrower type of call, so that a stage that
 * needs an earlier stage's fields does not compile before that stage: `Call` → `AuthedCall` →
 * `ValidCall<R>` → `RoutedCall<R>`.
 */

import type { CallerBody, RequestMedia } from './caller-body.ts'
import type { CallSession } from './call-session.ts'
import type { CallSignal } from './call-signal.ts'
import type { FitOptions, FittedRequest } from './direct-request.ts'
import type { CallRecord } from './record.ts'
import type { ApiKey } from './key.ts'
import type { Route } from './route.ts'
import type { UsageCost } from './usage.ts'
import { Secret } from './secret.ts'

export interface Call {
  /** Sent back as `x-request-id`. Not unique: the caller may choose it. */
  readonly id: string
  /** Lower-case names, as `node:http` gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The query as the caller wrote it, without the question mark; absent or empty where there is none. */
  readonly query?: string
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
  /**
   * Reads the body: parsed JSON, or an `UploadForm` for multipart. Nothing is read before the first use, so
   * the body of a caller without a key is never parsed. Call it at most once.
   *
   * @throws GatewayError `invalid_json`, `too_many_values`, `file_too_large`, `unsupported_media_type`,
   *   `overloaded`, `request_timeout`, and the reason of `signal` once it has aborted
   */
  readonly body: () => Promise<unknown>
  /**
   * Returns the body with its bytes, once it is read: only for endpoints with `keepsTextFromBytes`, and not
   * of a large request.
   */
  readonly callerBody?: () => CallerBody | undefined
  /**
   * Returns the media that were replaced in the parsed body by short placeholders, once it is read: only for
   * endpoints with `keepsMedia`, and mostly absent.
   */
  readonly media?: () => RequestMedia | undefined
  /**
   * Counts memory that the call takes besides its body, until it ends, in `limits.body_memory_bytes`. Absent
   * for a call that runs while no caller waits.
   *
   * @throws GatewayError `overloaded`, `file_too_large`
   */
  readonly takeMemory?: (bytes: number) => void
  /** Ends the call with `timeout` this many milliseconds after it arrived, unless it ends sooner anyway. */
  readonly endAfter?: (ms: number) => void
  /**
   * Aborts when the call ends before its answer is written. Every request, timer and tool call ends with
   * it. The reason is a `GatewayError`: `client_closed_request`, `client_too_slow`, `timeout`,
   * `shutting_down`, or the error that the call failed with. `standardSignal(call.signal)` is an
   * `AbortSignal`, for `fetch` and similar APIs.
   */
  readonly signal: CallSignal
  /** `performance.now()` at acceptance. */
  readonly receivedAtMs: number
  /** The caller's connection. Only for endpoints with `readsConnection`. */
  readonly connection?: Connection | undefined
  /** The facts known about the call so far, for the log and the usage ledger. */
  readonly record: CallRecord
}

/** Memory of one incoming answer, counted in `limits.body_memory_bytes`. */
export interface HeldMemory {
  /** @throws GatewayError `overloaded`, `file_too_large` */
  readonly take: (bytes: number) => void
  /** Gives back some of what was taken. */
  readonly give: (bytes: number) => void
}

/** Returns memory in the share of a key; without an id, in the share of what all keys use together. */
export type HoldMemory = (keyId: string | undefined) => HeldMemory

export interface Connection {
  /** The remote address, which may be that of a proxy. */
  readonly address: string | undefined
  /** True if TLS ends here. */
  readonly encrypted: boolean
}

export interface AuthedCall extends Call {
  readonly key: ApiKey
  /** Puts the call on record. The last frame of a stream waits for it. Absent: nothing is recorded. */
  readonly recordAnswer?: RecordAnswer | undefined
}

export interface ValidCall<R> extends AuthedCall {
  readonly request: R
  /** The request's options for the gateway itself; absent if it has none. */
  readonly options?: CallOptions | undefined
  /** Names of the stages that the request asks for; absent if none. */
  readonly requestedStages?: readonly string[] | undefined
  /** The provider account that holds the stored state which the call continues; it is tried first. */
  readonly origin?: ProviderAccount | undefined
  /** Set and read by the caller's dialect: facts of the request that it needs to write the answer. */
  readonly context?: unknown
}

/** A request's options for the gateway itself. */
export interface CallOptions {
  /** Models to try after those that the request names. */
  readonly fallbacks: readonly string[]
  /** Maximum retries per model. Default: the provider's setting. */
  readonly maxRetries?: number | undefined
  /**
   * Returns the cost of this call, or of one that does its work, once its answer has ended; `undefined` if
   * it is not recorded. Absent if the answer is not to show the cost.
   */
  readonly usageCost?: ((call: Call) => UsageCost | undefined) | undefined
}

/** An account at a provider. */
export interface ProviderAccount {
  readonly providerId: string
  /** A digest of its credential. */
  readonly account: string
}

export interface RoutedCall<R> extends ValidCall<R> {
  /** Best first, at least one; tried in order until one answers. */
  readonly routes: readonly [Route, ...Route[]]
  /**
   * Fits the request to a route, before it is sent there: an `R` gives an `R`, and a direct request where the
   * provider speaks the caller's dialect. Absent: every route gets the same.
   *
   * @throws GatewayError `unsupported_parameter` when its provider cannot take it
   */
  readonly fit?: (request: unknown, route: Route, options?: FitOptions) => FittedRequest
  /** The models and routes that the request names; absent if none. */
  readonly requestedNames?: readonly string[]
  /** Absent where calls of a session have nothing to gain from the same provider. */
  readonly session?: CallSession | undefined
  /** Digest of the account that encrypted reasoning of the history; preferred while it is available. */
  readonly reasoningAccount?: string
  /**
   * Resolves once the stages that look at the request while the provider answers let it pass; rejects with
   * what refuses the call. Nothing of the answer may go on, and no tool run, before that. Absent: no stage
   * does.
   */
  readonly requestVerdict?: Promise<void> | undefined
  /** The caller's own key at the provider (`X-Provider-Key`), used instead of the gateway's. */
  readonly providerKey?: Secret
}

/** Makes a call without an HTTP request: it runs later, or in parallel with another call. */
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
 * Adds fields to a call, or replaces them, and returns it with the type it has then: for stages after which
 * nothing needs the call as it was. One object for all stages saves 1.6 µs over six copies.
 */
export function refine<C extends object, F extends object> (call: C, fields: F): Omit<C, keyof F> & F {
  return Object.assign(call, fields)
}

/**
 * Returns a copy of the call with more or other fields: for what runs beside the call, or more than once.
 * Keep this order: spreading `fields` before the call would take 70 times as long.
 */
export function extend<C extends object, F extends object> (call: C, fields: F): Omit<C, keyof F> & F {
  return Object.assign({}, call, fields)
}

/** Journals a call before its caller can have the complete answer, which waits for the result. */
export type RecordAnswer = (call: Call) => Promise<void> | undefined

/**
 * Journals a call whose request has been sent to a provider. Nothing waits for it.
 *
 * @param isFree true for a request that costs nothing. Default: false
 */
export type RecordSent = (call: Call, isFree?: boolean) => void
