/** Carries requests over HTTP/2: many share a connection, and another one is opened when it is full. */

import type { Dispatcher, Pool } from 'undici'
import { connector, type ConnectorOptions } from './connector.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { Connection, Connections, OutgoingRequest } from './connections.ts'

/** Requests that share a connection; servers allow 100 and more. */
const requestsPerConnection = 100
/** While the first ones come about, each request opens another. */
const maxConnections = 64
/**
 * Requests that may be given up over one connection; then it takes no more. Until it closes, it keeps the
 * bodies that the server has not taken.
 */
const maxGivenUp = 20
/** Requests at once at most: undici would let others wait, without a word. */
export const maxSharedRequests = maxConnections * requestsPerConnection

/**
 * Returns the pool of a server. Servers without HTTP/2 are refused: over HTTP/1.1 requests would wait for
 * each other.
 */
export function sharedPool (server: URL, connecting: ConnectorOptions): Connections {
  const connect = connector({ ...connecting, protocol: 'h2' })
  const pools = new Set<Pool>()
  let current: Connection | undefined

  const open = (): Connection => {
    const pool = new (loadUndici().Pool)(server.origin, {
      allowH2: true,
      connections: maxConnections,
      pipelining: requestsPerConnection,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect
    })
    pools.add(pool)
    // After GOAWAY undici forgets its client, which would connect once more for the requests that it had.
    pool.on('connectionError', (_origin, targets, error) => { void targets.at(-1)?.destroy(error) })
    let givenUp = 0
    const retire = (): void => {
      if (current !== connection) return
      current = undefined
      void pool.close().then(() => { pools.delete(pool) }) // once its other requests have ended
    }
    const connection: Connection = {
      wasIdle: false,
      keepsUnsent: true,
      send: (request: OutgoingRequest, handler) => {
        // `idempotent` lets requests share a connection; the exchange aborts one that undici sends once more.
        const options = { origin: server.origin, ...request, idempotent: true }
        pool.dispatch(options as Dispatcher.DispatchOptions, handler) // its types lack iterables as bodies
      },
      release: () => { /* others use it as well */ },
      cancel: controller => {
        controller?.abort(new Error('the request was cancelled'))
        if (++givenUp === maxGivenUp) retire()
      },
      retire
    }
    return connection
  }

  return {
    get open () {
      let count = 0
      for (const { stats } of pools) count += stats.connected
      return count
    },
    acquire: () => current ??= open(),
    close: () => { for (const pool of pools) void pool.destroy() }
  }
}
