/** The context of a call in a distributed trace. Calls have one if traces are sent to a collector. */

/** Trace headers for a server: none, `traceparent` and `tracestate`, or `baggage` as well. */
export type Propagation = 'none' | 'traceparent' | 'all'

export interface CallTrace {
  /** 32 hexadecimal digits: the caller's trace, or a new one. */
  readonly traceId: string
  /** 16 hexadecimal digits: the span of the call. */
  readonly spanId: string
  /** The caller's span; absent in a new trace. */
  readonly parentId: string | undefined
  /** The caller's `tracestate`. */
  readonly state: string | undefined
  /** True if the spans of the call are sent. */
  readonly isSampled: boolean
  /** The flags of `traceparent`: 1 if sampled, and 2 if the caller says that its trace id is random. */
  readonly flags: number
  /** Starts a span for a step of the call. */
  readonly child: () => ChildSpan
}

export interface ChildSpan {
  readonly spanId: string
  /** Returns the headers for the server that the span is about. */
  readonly headers: (propagation: Propagation) => Readonly<Record<string, string>>
}
