/**
 * What carries the requests to one provider: connections of one request each (`clients`), or shared ones
 * (`shared-pool`).
 */

import type { Dispatcher } from 'undici'

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array> | null
}

/** What undici tells of a request, and what it does not. */
export interface RequestHandler extends Dispatcher.DispatchHandler {
  /** The server has ended the connection of this request, and all bytes of it have been handed over. */
  readonly onConnectionEnd?: () => void
}

/** A connection that one request has to itself, or its share of one. It ends by `release` or `cancel`. */
export interface Connection {
  /**
   * True if it had been idle and is still open: a failure before a request is written then concerns no
   * request.
   */
  readonly wasIdle: boolean
  /** True where undici keeps a request that is given up, with its body, until a connection is there. */
  readonly keepsUnsent: boolean
  readonly send: (request: OutgoingRequest, handler: RequestHandler) => void
  /** Gives it back after a complete response. */
  readonly release: () => void
  /**
   * Gives up the request, and closes what it has to itself. @param controller of the request, once it has
   * started
   */
  readonly cancel: (controller: Dispatcher.DispatchController | undefined) => void
  /** Takes no more requests: one that shares this connection was not answered in time. */
  readonly retire?: () => void
}

export interface Connections {
  /** Counts those that are open or about to be. */
  readonly open: number
  readonly acquire: () => Connection
  /** Closes those that are free, once no request is left. */
  readonly close: () => void
}
