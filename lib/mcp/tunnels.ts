/**
 * Opens tunnels through a proxy to addresses that were checked: the proxy is never given a name to resolve.
 */

import { Socket, isIP } from 'node:net'
import { abortable } from '../async/cancellation.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { ProxySettings } from '../core/settings.ts'

/**
 * @param maxMs for the connection to the proxy and for its answer together
 * @throws the network error, or one with the status by which the proxy refuses
 */
export type OpenTunnel = (address: string, port: number, maxMs: number) => Promise<Socket>

export interface TunnelOptions {
  /** Milliseconds for a connection to the proxy, which the next tunnel may use. */
  readonly connectMs: number
  /** Closes the connections to the proxy that are no tunnels yet, and opens no more. */
  readonly signal?: AbortSignal | undefined
}

/** Returns what opens tunnels. */
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
    // undici notices a signal only once it is connected to the proxy.
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
