/**
 * Direct requests: callers and providers may speak the same dialect. Requests then keep the caller's text,
 * except for the model and limits, and answers pass unchanged.
 */

import type { DirectDialect } from './events.ts'
import type { RequestFacts } from './record.ts'

/** A request as its caller wrote it, for a provider of the same dialect. */
export interface DirectRequest {
  readonly dialect: DirectDialect
  /** Set if the request asks for something other than an answer. */
  readonly action?: 'compact'
  /**
   * JSON as received, except for the model and limits set by the gateway. A large body is printed while it is
   * sent.
   */
  readonly body: string | (() => AsyncIterable<Uint8Array>)
  /** Headers of the caller that the provider reads. */
  readonly headers: Readonly<Record<string, string>>
  /** The part of the caller's query that the provider reads, without the question mark; empty if none. */
  readonly query: string
  /** Returns the caller's name of a parameter of the body. Default: the same name. */
  readonly callerParam?: (param: string) => string
}

export interface FitOptions {
  /** The index of the gateway's credential, if the provider has several. */
  readonly credentialIndex?: number | undefined
  /** True if the request must not be sent as its caller wrote it. */
  readonly isTranslated?: boolean
  /** Receives notes about lowered limits and omitted fields. Default: the record of the call. */
  readonly notes?: Pick<RequestFacts, 'maxTokens' | 'ignoredFields'>
}

/** A request fitted to one route. */
export interface FittedRequest<R> {
  readonly request: R
  /** Sent in place of the request if the provider of the route speaks the caller's dialect. */
  readonly direct?: DirectRequest | undefined
}
