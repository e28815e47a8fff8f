/**
 * One API request in flight, free of any HTTP framework.
 *
 * Each stage before the provider returns a more precise call, so that a stage in the wrong place
 * does not compile: `Call` → `AuthedCall` → `ValidCall<R>` → `RoutedCall<R>`.
 */

import type { CallRecord } from './call-record.ts'
import type { KeyLimits } from './key-limits.ts'
import type { LongText } from './long-text.ts'

export interface Call {
  /** Unique; sent back as `x-request-id`. */
  readonly id: string
  /** Lower-case names, as `node:http` gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<string, string>>
  /**
   * Reads the body: parsed JSON, or an `UploadForm` for multipart. Nothing is read before the
   * first use, so a caller without a key never gets to send one. At most once per call.
   *
   * @throws GatewayError `invalid_json`, `file_too_large`, `unsupported_media_type`,
   *   `request_timeout`, `client_closed_request`.
   */
  readonly body: () => Promise<unknown>
  /**
   * The long strings of the body, by the stand-in that the body holds in their place. Only for
   * endpoints with `longStringBytes`; filled when the body is read.
   */
  readonly longTexts?: ReadonlyMap<string, LongText>
  /**
   * Aborts when the caller has gone or the deadline has passed, from the moment the call was
   * accepted until the answer is written. Every request, timer and tool call hangs on it. Its
   * reason is a `GatewayError`: `client_closed_request`, `timeout` or `shutting_down`.
   */
  readonly signal: AbortSignal
  /** `performance.now()` at acceptance. */
  readonly receivedAtMs: number
  /** What is known of the call so far, for the log and the books: the one mutable part. */
  readonly record: CallRecord
}

/** Whom a gateway key belongs to and what it may do. Never the key itself. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  /** Endpoint names the key may call; absent means all. */
  readonly endpoints?: readonly string[]
  /** Model ids or `provider/*` patterns the key may use; absent means all. */
  readonly models?: readonly string[]
  /** Unix time in milliseconds; absent means never. */
  readonly expiresAtMs?: number
  /** How much it may use; absent means what the configuration says of such keys. */
  readonly limits?: KeyLimits
}

export interface AuthedCall extends Call {
  readonly key: ApiKey
}

export interface ValidCall<R> extends AuthedCall {
  readonly request: R
}

/** The provider and model chosen for a call: plain data, no credentials. */
export interface Route {
  readonly providerId: string
  /** The model's name at the provider. */
  readonly model: string
  /** The gateway's id for it, with the provider prefix: what answers say in `model`. */
  readonly modelId: string
  /** Defaults from `{ model, settings }`; what the request says wins. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** What gave it its place among the routes, where that is not the order in which they were named. */
  readonly ranked?: Ranked
}

export interface Ranked {
  /** A score from 0 to 1; a weight; USD per million tokens; milliseconds. */
  readonly by: 'score' | 'weight' | 'price' | 'first byte'
  /** Absent while it is not known. */
  readonly value?: number
}

export interface RoutedCall<R> extends ValidCall<R> {
  /** Best first, at least one; tried in order until one answers. */
  readonly routes: readonly [Route, ...Route[]]
  /** The caller's own key at the provider (`X-Provider-Key`), used instead of the gateway's. */
  readonly providerKey?: Secret
}

/** A text that shows as `[redacted]` wherever it is printed. */
export class Secret {
  readonly #text: string

  constructor (text: string) {
    this.#text = text
  }

  /** The text itself: for the header that needs it, and nothing else. */
  reveal (): string {
    return this.#text
  }

  toString (): string {
    return '[redacted]'
  }

  toJSON (): string {
    return '[redacted]'
  }

  [Symbol.for('nodejs.util.inspect.custom')] (): string {
    return '[redacted]'
  }
}

/** A file of a multipart form, held on disk until the call has ended. */
export interface UploadedFile {
  /** As the caller named it, without any path. */
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
  /** Opens the bytes anew: a retry reads them again. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** The first bytes, for recognising the format: at most 4,100. */
  readonly head: Uint8Array
}

/** What `Call.body` gives for multipart: text fields in order, and the files by field name. */
export interface UploadForm {
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  readonly files: Readonly<Record<string, readonly UploadedFile[]>>
}
