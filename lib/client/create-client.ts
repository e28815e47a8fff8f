/** Creates undici clients with one HTTP/1.1 connection: direct or through a proxy. */

import type { Client as UndiciClient, buildConnector } from 'undici'
import { withConnectTimeout, inTime, type ConnectorOptions } from './connector.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { CreateClient } from './clients.ts'
import type { ProxySettings } from '../core/settings.ts'

/** The exchange has its own timers. Idle connections are kept for 30 s unless the server says otherwise. */
const options: UndiciClient.Options = { keepAliveTimeout: 30_000, headersTimeout: 0, bodyTimeout: 0 }

/** Options with which the proxy agent creates the client of a server. */
interface ConnectingOptions extends UndiciClient.Options {
  readonly connect: buildConnector.connector
}

/** Adds socket listeners before undici does. */
function prepared (onConnected: buildConnector.Callback, onEnd: () => void): buildConnector.Callback {
  return (...result) => {
    result[1]?.on('end', onEnd).on('error', (error: NodeJS.ErrnoException) => {
      // undici takes a reset for the end of a body without a length, and fails an assertion if the body is
      // paused.
      if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED'
    })
    onConnected(...result)
  }
}

/**
 * Codes of errors after which undici connects again, without an end: it takes them for those of an open
 * connection.
 */
const repeated: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'UND_ERR_INFO'])

/** Makes a tunnel that the proxy has closed a failure like any other. */
function failingOnce (onConnected: buildConnector.Callback): buildConnector.Callback {
  return (...result) => {
    const [error] = result
    if (error === null || !('code' in error && repeated.has(error.code))) onConnected(...result)
    else {
      const failure = new Error('the proxy closed the connection before the tunnel was open', { cause: error })
      onConnected(Object.assign(failure, { code: 'ECONNRESET' }), null)
    }
  }
}

export function createDirectClient (server: URL, connecting: ConnectorOptions): CreateClient {
  const connect = withConnectTimeout(connecting)
  const origin = new URL(server.origin) // shared: undici would parse a string for each client
  return ({ onDisconnect, onEnd }) => {
    const { Client } = loadUndici()
    let close: (() => void) | undefined
    const dispatcher = new Client(origin, {
      ...options,
      connect: (to, onConnected) => { close = connect(to, prepared(onConnected, onEnd)) }
    })
    dispatcher.on('disconnect', onDisconnect)
    return {
      dispatcher,
      destroy: () => {
        void dispatcher.destroy()
        close?.() // otherwise undici would finish connecting first
      }
    }
  }
}

/** Creates clients that connect through a proxy's tunnels (`CONNECT`). */
export function createProxiedClient (
  { url, credentials }: ProxySettings,
  { timeoutMs, tls }: ConnectorOptions
): CreateClient {
  return ({ onDisconnect, onEnd }) => {
    const { Client, ProxyAgent } = loadUndici()
    const leaving = new AbortController()
    const connecting = { timeout: 0, signal: leaving.signal }
    const dispatcher = new ProxyAgent({
      ...options,
      uri: url,
      ...credentials !== undefined && {
        token: `Basic ${Buffer.from(credentials.reveal()).toString('base64')}`
      },
      proxyTls: connecting,
      requestTls: { ...tls, ...connecting },
      clientFactory: (proxy, given) => new Client(proxy, { ...given, headersTimeout: 0 }),
      factory: (server, given: ConnectingOptions) => {
        const connect: buildConnector.connector = (to, onConnected) => {
          // one timeout for the proxy, its answer and TLS
          given.connect(to, inTime(timeoutMs, leaving, failingOnce(prepared(onConnected, onEnd))))
        }
        return new Client(server, { ...given, connect }).on('disconnect', onDisconnect)
      }
    })
    return {
      dispatcher,
      destroy: () => {
        void dispatcher.destroy()
        leaving.abort() // also aborts a connection attempt
      }
    }
  }
}
