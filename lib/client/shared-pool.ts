/** Sends requests over HTTP/2: connections are shared, and another is opened when all are full. */

import type { Dispatcher, Pool } from 'undici'
import { withConnectTimeout, type ConnectorOptions } from './connector.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { Connection, Connections, OutgoingRequest } from './exchange.ts'

/** Requests per connection; servers allow at least 100. */
const requestsPerConnection = 100
/** While the first connections open, each request opens another. */
const maxConnections = 64
/**
 * Maximum aborted requests per connection, which then accepts no more. Until it closes, it keeps the bodies
 * that the server has not read.
 */
const maxGivenUp = 20
/** Maximum concurrent requests: undici would queue others silently. */
export const maxSharedRequests = maxConnections * requestsPerConnection

/**
 * Returns the pool of a server. Servers without HTTP/2 are rejected, because requests over HTTP/1.1 would
 * block each other.
 */
export function sharedPool (server: URL, connecting: ConnectorOptions): Connections {
  const connect = withConnectTimeout({ ...connecting, protocol: 'h2' })
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
    // After GOAWAY, undici drops its client, which would reconnect to resend its requests.
    pool.on('connectionError', (_origin, targets, error) => { void targets.at(-1)?.destroy(error) })
    let givenUp = 0
    const retire = (): void => {
      if (current !== connection) return
      current = undefined
      void pool.close().then(() => { pools.delete(pool) }) // after its other requests
    }
    const connection: Connection = {
      wasIdle: false,
      keepsUnsent: true,
      send: (request: OutgoingRequest, handler) => {
        // `idempotent` allows sharing a connection; the exchange aborts a request that undici resends.
        const options = { origin: server.origin, ...request, idempotent: true }
        pool.dispatch(options as Dispatcher.DispatchOptions, handler) // undici's types lack iterable bodies
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
