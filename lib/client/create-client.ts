/** Makes undici's clients of one connection, over HTTP/1.1: direct, or through a proxy. */

import type { Client as UndiciClient, buildConnector } from 'undici'
import type { Socket } from 'node:net'
import { connector, type ConnectorOptions } from './connector.ts'
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

/** Listens to a socket, before undici does. */
function prepare (socket: Socket | null, onEnd: () => void): void {
  socket?.on('end', onEnd).on('error', (error: NodeJS.ErrnoException) => {
    // undici takes a reset for the end of a body without a length, and its assertion fails if that is paused.
    if (error.code === 'ECONNRESET') error.code = 'ECONNABORTED'
  })
}

/** Makes clients that connect to the server itself. */
export function directClients (server: URL, connecting: ConnectorOptions): CreateClient {
  const connect = connector(server, connecting)
  const origin = new URL(server.origin) // one for all: of a string undici makes one for each client
  return ({ onDisconnect, onEnd }) => {
    const { Client } = loadUndici()
    let socket: Socket | undefined
    const dispatcher = new Client(origin, {
      ...options,
      connect: (_options, onConnected) => {
        socket = connect((...result) => {
          prepare(result[1], onEnd)
          onConnected(...result)
        })
      }
    })
    dispatcher.on('disconnect', onDisconnect)
    return {
      dispatcher,
      destroy: () => {
        void dispatcher.destroy()
        socket?.destroy() // undici would let the connection come about first
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
    const dispatcher = new ProxyAgent({
      ...options,
      uri: url,
      ...credentials !== undefined && {
        token: `Basic ${Buffer.from(credentials.reveal()).toString('base64')}`
      },
      proxyTls: { timeout: timeoutMs },
      requestTls: { ...tls, timeout: timeoutMs },
      clientFactory: (proxy, connecting) => new Client(proxy, { ...connecting, headersTimeout: timeoutMs }),
      factory: (server, connecting: ConnectingOptions) => {
        const connect: buildConnector.connector = (to, onConnected) => {
          connecting.connect(to, (...result) => {
            prepare(result[1], onEnd)
            onConnected(...result)
          })
        }
        return new Client(server, { ...connecting, connect }).on('disconnect', onDisconnect)
      }
    })
    return { dispatcher, destroy: () => { void dispatcher.destroy() } }
  }
}
