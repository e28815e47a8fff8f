/** Connections to one provider: one request each (`clients`) or shared (`shared-pool`). */

import type { Dispatcher } from 'undici'

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array> | null
}

/** undici's request callbacks, plus one that undici lacks. */
export interface RequestHandler extends Dispatcher.DispatchHandler {
  /** Called when the server has ended the connection of this request, after all its bytes. */
  readonly onConnectionEnd?: () => void
}

/** An exclusive connection, or a share of one. It ends with `release` or `cancel`. */
export interface Connection {
  /** True if it was idle and is still open: an error before a request is written then concerns no request. */
  readonly wasIdle: boolean
  /** True if undici keeps an aborted request with its body until it has a connection. */
  readonly keepsUnsent: boolean
  readonly send: (request: OutgoingRequest, handler: RequestHandler) => void
  /** Returns the connection after a complete response. */
  readonly release: () => void
  /**
   * Aborts the request, and closes the connection if it is exclusive.
   *
   * @param controller of the request, once it has started
   */
  readonly cancel: (controller: Dispatcher.DispatchController | undefined) => void
  /** Accepts no more requests, because one on this shared connection timed out. */
  readonly retire?: () => void
}

export interface Connections {
  /** Number of connections open or opening. */
  readonly open: number
  readonly acquire: () => Connection
  /** Closes all connections. Call it when no request is in flight. */
  readonly close: () => void
}
