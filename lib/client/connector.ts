/**
 * Opens the sockets to one server. undici's own connector has a clock of half a second and keeps TLS sessions
 * weakly.
 */

import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely, type ConnectionOptions } from 'node:tls'

const keepAliveProbeMs = 60_000

export interface ConnectorOptions {
  /** Milliseconds until it can be written to. */
  readonly timeoutMs: number
  /** Default: HTTP/1.1. */
  readonly protocol?: 'http/1.1' | 'h2'
  readonly tls?: TlsFiles | undefined
}

/** PEM texts: authorities that replace those of Node.js, and a client certificate. */
export interface TlsFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

type Connected = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void

/** Opens a socket and returns it at once; calls back when it is connected, or could not be. */
export type Connect = (onConnected: Connected) => Socket

/** Makes sockets to a server, over TLS for `https:`, whose latest session is used again. */
export function connector (
  server: URL,
  { timeoutMs, protocol = 'http/1.1', tls }: ConnectorOptions
): Connect {
  const isSecure = server.protocol === 'https:'
  const host = server.hostname.replace(/^\[|\]$/g, '')
  const port = Number(server.port) || (isSecure ? 443 : 80)
  const secure: ConnectionOptions = {
    ...tls,
    host,
    port,
    ALPNProtocols: [protocol],
    servername: isIP(host) === 0 ? host : ''
  }
  let session: Buffer | undefined
  return onConnected => {
    const socket = isSecure
      ? connectSecurely(session === undefined ? secure : { ...secure, session }).on('session', latest => {
          session = latest
        })
      : connect({ host, port })
    const timer = setTimeout(() => { socket.destroy(connectTimeout(timeoutMs)) }, timeoutMs)
    const finish = (): void => {
      clearTimeout(timer)
      socket.off(isSecure ? 'secureConnect' : 'connect', succeed).off('error', fail).off('close', close)
    }
    const succeed = (): void => {
      finish()
      if (protocol === 'h2' && 'alpnProtocol' in socket && socket.alpnProtocol !== 'h2')
        fail(new Error('the server does not offer HTTP/2'))
      else onConnected(null, socket)
    }
    const fail = (error: Error): void => {
      finish()
      socket.on('error', () => { /* reported once */ }).destroy()
      onConnected(error, null)
    }
    const close = (): void => fail(new Error('the connection was closed before it was made'))
    socket.on(isSecure ? 'secureConnect' : 'connect', succeed).on('error', fail).on('close', close)
    return socket.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs)
  }
}

function connectTimeout (ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms} ms`), { code: 'ETIMEDOUT' })
}
