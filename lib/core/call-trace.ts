/** The place of a call in a distributed trace. Calls have one where traces are sent to a collector. */

/** The headers of a trace that a server gets: none, `traceparent` and `tracestate`, or `baggage` as well. */
export type Propagation = 'none' | 'traceparent' | 'all'

export interface CallTrace {
  /** 32 hexadecimal digits: the trace of the caller, or a new one. */
  readonly traceId: string
  /** 16 hexadecimal digits: the span of the call. */
  readonly spanId: string
  /** The span of the caller; absent in a new trace. */
  readonly parentId: string | undefined
  /** `tracestate` of the caller. */
  readonly state: string | undefined
  /** True when the spans of the call are sent. */
  readonly isSampled: boolean
  /** Begins a span of something that the call does. */
  readonly child: () => ChildSpan
}

export interface ChildSpan {
  readonly spanId: string
  /** Returns the headers for a server that the span is about. */
  readonly headers: (propagation: Propagation) => Readonly<Record<string, string>>
}
