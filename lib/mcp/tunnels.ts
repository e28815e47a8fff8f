/** Opens tunnels through a proxy to addresses that were checked: the proxy is never given a name to resolve. */

import { Socket, isIP } from 'node:net'
import { loadUndici } from '../net/load-undici.ts'
import type { ProxySettings } from '../core/settings.ts'

/** @throws the network error, or one with the status by which the proxy refuses */
export type OpenTunnel = (address: string, port: number) => Promise<Socket>

/** Returns what opens tunnels. @param connectMs for the connection to the proxy, then for its answer */
export function tunnelsThrough ({ url, credentials }: ProxySettings, connectMs: number): OpenTunnel {
  const pool = new (loadUndici().Pool)(url, { headersTimeout: connectMs, connect: { timeout: connectMs } })
  const authorization = credentials && {
    'proxy-authorization': `Basic ${Buffer.from(credentials.reveal()).toString('base64')}`
  }
  return async (address, port) => {
    const target = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`
    const { statusCode, socket } = await pool.connect({
      path: target,
      headers: { host: target, ...authorization }
    })
    if (statusCode === 200 && socket instanceof Socket) return socket
    socket.on('error', () => { /* of a connection that is given up */ }).destroy()
    throw new Error(`the proxy answered ${statusCode}`)
  }
}
