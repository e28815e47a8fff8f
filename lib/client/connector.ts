/**
 * Connects to one server with undici's connector, and adds what it has no option for: exact timeouts (its own
 * have half-second steps), strongly held TLS sessions, aborting a connection attempt, and HTTP/2 without
 * fallback to HTTP/1.1.
 */

import { loadUndici } from '../net/load-undici.ts'
import type { buildConnector } from 'undici'

export interface ConnectorOptions {
  /** Maximum milliseconds until the socket is writable. */
  readonly timeoutMs: number
  /** Default: HTTP/1.1. */
  readonly protocol?: 'http/1.1' | 'h2'
  readonly tls?: TlsFiles | undefined
}

/** PEM texts: CAs that replace those of Node.js, and a client certificate. */
export interface TlsFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** Calls back once, with a socket or an error. Returns a function that closes the socket. */
export type Connect = (to: buildConnector.Options, onConnected: buildConnector.Callback) => () => void

/**
 * Read-ahead of a socket for a slow reader. With more, undici would take a reset after the buffered bytes for
 * the end of a body without a length.
 */
const highWaterMark = 16 * 1024

/** Creates sockets to a server. For `https:`, resumes the latest TLS session. */
export function withConnectTimeout ({ timeoutMs, protocol, tls }: ConnectorOptions): Connect {
  const allowH2 = protocol === 'h2'
  let session: Buffer | undefined
  return (to, onConnected) => {
    const leaving = new AbortController()
    const { signal } = leaving
    const options = { ...tls, highWaterMark, timeout: 0, allowH2, session, signal }
    const connect = loadUndici().buildConnector(options)
    connect(to, inTime(timeoutMs, leaving, (...[error, socket]) => {
      if (error !== null) return onConnected(error, null)
      if (allowH2 && !('alpnProtocol' in socket && socket.alpnProtocol === 'h2')) {
        socket.destroy()
        return onConnected(new Error('the server does not offer HTTP/2'), null)
      }
      socket.on('session', latest => { session = latest })
      onConnected(null, socket)
    }))
    return () => leaving.abort(new Error('the connection was closed before it was established'))
  }
}

/**
 * Starts the timeout of a connection attempt. If it is aborted, the callback receives the abort reason
 * instead of the resulting error.
 */
export function inTime (
  timeoutMs: number,
  leaving: AbortController,
  onConnected: buildConnector.Callback
): buildConnector.Callback {
  const { signal } = leaving
  const timer = setTimeout(() => leaving.abort(connectTimeout(timeoutMs)), timeoutMs)
  return (...result) => {
    clearTimeout(timer)
    const [error] = result
    if (error !== null && signal.aborted) onConnected(signal.reason, null)
    else onConnected(...result)
  }
}

function connectTimeout (ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms} ms`), { code: 'ETIMEDOUT' })
}
