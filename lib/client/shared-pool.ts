/** Carries requests over HTTP/2: many share a connection, and another one is opened when it is full. */

import type { Dispatcher, Pool } from 'undici'
import { connector, type ConnectorOptions } from './connector.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { Connection, Connections, OutgoingRequest } from './connections.ts'

/** Requests that share a connection; servers allow 100 and more. */
const requestsPerConnection = 100
/** While the first ones come about, each request opens another. */
const maxConnections = 64
/** Requests at once at most: undici would let others wait, without a word. */
export const maxSharedRequests = maxConnections * requestsPerConnection

/** Returns the pool of a server. Servers without HTTP/2 are refused: over HTTP/1.1 requests would wait for each other. */
export function sharedPool (server: URL, connecting: ConnectorOptions): Connections {
  const connect = connector(server, { ...connecting, protocol: 'h2' })
  const open = (): Pool => new (loadUndici().Pool)(server.origin, {
    allowH2: true,
    connections: maxConnections,
    pipelining: requestsPerConnection,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, onConnected) => { connect(onConnected) }
  })
  let pool: Pool | undefined
  const connection: Connection = {
    wasIdle: false,
    send: (request: OutgoingRequest, handler) => {
      const idempotent = true // to share a connection; what is sent once more all the same is aborted by the exchange
      const options = { origin: server.origin, ...request, idempotent } as Dispatcher.DispatchOptions // iterables are documented, and missing from its types
      pool ??= open()
      pool.dispatch(options, handler)
    },
    release: () => { /* others use it as well */ },
    cancel: controller => controller?.abort(new Error('the request was cancelled'))
  }
  return {
    get open () { return pool?.stats.connected ?? 0 },
    acquire: () => connection,
    close: () => { void pool?.destroy() }
  }
}
