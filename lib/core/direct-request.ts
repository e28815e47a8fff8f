/** The dialects that callers and providers both speak, so that requests and answers may pass as they are. */
export type DirectDialect = 'messages' | 'responses'

/** A request in the words of its caller, for a provider that reads the same ones. */
export interface DirectRequest {
  readonly dialect: DirectDialect
  /** Asks for something other than an answer. */
  readonly action?: 'compact'
  /**
   * JSON, as it came but for the model and what the gateway has to limit; a large one is printed anew while
   * it is sent.
   */
  readonly body: string | (() => AsyncIterable<Uint8Array>)
  /** Headers of the caller that the provider reads. */
  readonly headers: Readonly<Record<string, string>>
  /** The part of the caller's query that the provider reads, without the question mark; empty: none. */
  readonly query: string
}

export interface FitOptions {
  /** The index of the gateway's credential that is used, of several. */
  readonly credential?: number | undefined
  /** True when the request is not to be sent in the caller's own words. */
  readonly isTranslated?: boolean
  /** Notes a limit that is lowered, and what is left out. Default: the record of the call. */
  readonly record?: { maxTokens: number | undefined, ignoredFields: string[] | undefined }
}

/** A request fitted to one route. */
export interface FittedRequest<R = unknown> {
  readonly request: R
  /** Sent in place of the request where the provider of the route speaks the caller's dialect. */
  readonly direct?: DirectRequest | undefined
}

/** An error in the words of a provider, for callers who speak its dialect: clients act on the wording. */
export interface OriginalError {
  readonly dialect: DirectDialect
  readonly status: number
  readonly body: string
}
