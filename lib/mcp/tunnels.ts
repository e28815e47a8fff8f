/** Opens tunnels through a proxy to checked addresses: the proxy never resolves a name. */

import { Socket, isIP } from 'node:net'
import { abortable } from '../async/cancellation.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { ProxySettings } from '../core/settings.ts'

/**
 * @param maxMs for the connection to the proxy and its answer together
 * @throws the network error, or one with the proxy's error status
 */
export type OpenTunnel = (address: string, port: number, maxMs: number) => Promise<Socket>

export interface TunnelOptions {
  /** Maximum milliseconds to connect to the proxy; a later tunnel may use the connection. */
  readonly connectMs: number
  /** Closes proxy connections that are not tunnels yet, and opens no more. */
  readonly signal?: AbortSignal | undefined
}

/** Returns a function that opens tunnels. */
export function tunnelsThrough (
  { url, credentials }: ProxySettings,
  { connectMs, signal: ended }: TunnelOptions
): OpenTunnel {
  const pool = new (loadUndici().Pool)(url, { connect: { timeout: connectMs } })
  ended?.addEventListener('abort', () => { void pool.destroy() })
  const authorization = credentials && {
    'proxy-authorization': `Basic ${Buffer.from(credentials.reveal()).toString('base64')}`
  }
  return async (address, port, maxMs) => {
    const target = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`
    const overdue = new AbortController()
    const { signal } = overdue
    const timer = setTimeout(() => overdue.abort(noTunnel(maxMs)), maxMs)
    const opening = pool.connect({ path: target, headers: { host: target, ...authorization }, signal })
    // undici only checks the signal once it is connected to the proxy.
    const { statusCode, socket } = await abortable(opening, signal).finally(() => clearTimeout(timer))
    if (statusCode === 200 && socket instanceof Socket) return socket
    socket.on('error', () => { /* of a connection that is given up */ }).destroy()
    throw new Error(`the proxy answered ${statusCode}`)
  }
}

function noTunnel (ms: number): Error {
  const message = `no tunnel through the proxy within ${Math.round(ms)} ms`
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' })
}
