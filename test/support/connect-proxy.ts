/** A proxy for tunnels (`CONNECT`) that records the requests for them. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface ConnectProxy {
  readonly url: string
  /** The target and the credentials of each requested tunnel. */
  readonly requests: Array<{ readonly target: string, readonly authorization: string | undefined }>
  /** Open connections, with a tunnel or not. */
  readonly connections: () => number
  /** Open tunnels. */
  readonly open: () => number
  readonly closeTunnels: () => void
  readonly resetTunnels: () => void
}

/**
 * @param answer a response in place of a tunnel; 'nothing' for none at all
 * @param local the port where all tunnels lead, whatever the target
 */
export async function startConnectProxy (t: Test, answer?: string, local?: string): Promise<ConnectProxy> {
  const requests: ConnectProxy['requests'] = []
  const sockets = new Set<Socket>()
  const tunnels = new Set<Socket>()
  const server = createServer((_request, response) => { response.writeHead(405).end() })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
  })
  server.on('connect', ({ url = '', headers }, socket: Socket, head) => {
    requests.push({ target: url, authorization: headers['proxy-authorization'] })
    if (answer === 'nothing') return socket.on('end', () => socket.destroy()).resume()
    if (answer !== undefined) return socket.end(answer)
    const { hostname, port } = new URL(`http://${local ?? url}`)
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    tunnels.add(socket)
    socket.on('close', () => {
      tunnels.delete(socket)
      upstream.destroy()
    })
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a port, not a path
    requests,
    connections: () => sockets.size,
    open: () => tunnels.size,
    closeTunnels: () => { for (const socket of tunnels) socket.destroy() },
    resetTunnels: () => { for (const socket of tunnels) socket.resetAndDestroy() }
  }
}
