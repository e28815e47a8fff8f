/** The reply to a call, and how JSON and event streams are sent. */

/** The response to a call. `http/` adds the framing and more headers, such as `x-request-id`. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /**
   * A complete body is sent with its length; an iterable with back-pressure, one write per item up to 64 KB.
   * An iterable that throws cuts the connection: to report an error, a stream must first write its own error
   * frame (see `sseFrames` of `wire/sse-frames`).
   */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>
  /**
   * Resolves to the reply for the caller, with placeholders replaced by their values. The stored answer keeps
   * the placeholders. Absent: the reply has none.
   */
  readonly restoreForCaller?: (reply: Reply) => Promise<Reply>
  /** For streams: what to write after a while without output. */
  readonly keepAlive?: { readonly text: string | (() => string), readonly everyMs: number }
}

/**
 * Ends a call before the end of its pipeline: a stage throws it with the reply, and the pipeline resolves
 * with that reply (`pipelines/pipeline`). It is not a failure, so it is not an `Error`: taking a stack would
 * cost more than the replies it carries.
 */
export class EarlyReply {
  readonly reply: Reply

  constructor (reply: Reply) {
    this.reply = reply
  }
}

/** The headers of every reply whose body is JSON. */
export const jsonReplyHeaders = { 'content-type': 'application/json; charset=utf-8' } as const

/** The headers of every reply whose body is an event stream. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no'
} as const

/** A value that has already been printed. */
export class PrintedJson {
  readonly json: string | Uint8Array

  constructor (json: string | Uint8Array) {
    this.json = json
  }
}

export function toJsonReply (value: unknown, status = 200): Reply {
  return {
    status,
    headers: jsonReplyHeaders,
    body: value instanceof PrintedJson ? value.json : JSON.stringify(value)
  }
}

/** Returns the time in Unix seconds, as in answers. */
export function nowSeconds (): number {
  return Math.floor(Date.now() / 1000)
}
