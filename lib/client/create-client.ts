/** Makes undici's clients of one connection, over HTTP/1.1: direct, or through a proxy. */

import type { Client as UndiciClient, buildConnector } from 'undici'
import { connector, inTime, type ConnectorOptions } from './connector.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { CreateClient } from './clients.ts'
import type { ProxySettings } from '../core/settings.ts'

/**
 * The exchange has its own timers. An idle connection is kept for half a minute where the server does not
 * say how long.
 */
const options: UndiciClient.Options = { keepAliveTimeout: 30_000, headersTimeout: 0, bodyTimeout: 0 }

/** Options from which the proxy agent makes the client of a server. */
interface ConnectingOptions extends UndiciClient.Options {
  readonly connect: buildConnector.connector
}

/** Listens to the socket, before undici does. */
function prepared (onConnected: buildConnector.Callback, onEnd: () => void): buildConnector.Callback {
  return (...result) => {
    result[1]?.on('end', onEnd).on('error', (error: NodeJS.ErrnoException) => {
      // undici takes a reset for the end of a body without a length, and its assertion fails if that is
      // paused.
      if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED'
    })
    onConnected(...result)
  }
}

/** Makes clients that connect to the server itself. */
export function directClients (server: URL, connecting: ConnectorOptions): CreateClient {
  const connect = connector(connecting)
  const origin = new URL(server.origin) // one for all: of a string undici makes one for each client
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
        close?.() // undici would let the connection come about first
      }
    }
  }
}

/** Makes clients whose connections are tunnels (`CONNECT`) through a proxy. */
export function proxiedClients (
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
          // one clock for the proxy, its answer and TLS
          given.connect(to, inTime(timeoutMs, leaving, prepared(onConnected, onEnd)))
        }
        return new Client(server, { ...given, connect }).on('disconnect', onDisconnect)
      }
    })
    return {
      dispatcher,
      destroy: () => {
        void dispatcher.destroy()
        leaving.abort() // for one that is connecting, too
      }
    }
  }
}
