/**
 * Connects to one server by undici's connector, and adds what it has no option for: its clock goes in steps
 * of half a second, it keeps TLS sessions weakly, it does not give up a socket that is connecting, and where
 * it offers HTTP/2 it takes HTTP/1.1 as well.
 */

import { loadUndici } from '../net/load-undici.ts'
import type { buildConnector } from 'undici'

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

/** Calls back once, with a socket or the reason why there is none. Returns what closes the socket. */
export type Connect = (to: buildConnector.Options, onConnected: buildConnector.Callback) => () => void

/**
 * Bytes that a socket reads ahead of a slow reader. With more, a reset that comes behind them is taken for
 * the end of a body that has no length.
 */
const highWaterMark = 16 * 1024

/** Makes sockets to a server, over TLS for `https:`, whose latest session is used again. */
export function connector ({ timeoutMs, protocol, tls }: ConnectorOptions): Connect {
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
 * Starts the clock of a connection: aborts what connects when the time is up. The callback gets the reason
 * of an abort in place of the error that it causes.
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
