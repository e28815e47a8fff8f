/**
 * A proxy in front of a server that can stall, so that connections stay open and nothing passes, or break
 * them.
 */

import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface StallingProxy {
  readonly port: number
  readonly stall: () => void
  readonly resume: () => void
  /** Lets new connections through; stalled ones remain stalled. */
  readonly admit: () => void
  /** Closes all connections abruptly. */
  readonly cut: () => void
}

/** Starts a proxy in front of a local port. */
export async function startStallingProxy (t: Test, target: number): Promise<StallingProxy> {
  const sockets = new Set<Socket>()
  let stalled = false
  const server = createServer(client => {
    const upstream = connect(target, '127.0.0.1')
    for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(socket)
      socket.on('data', bytes => other.write(bytes))
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      if (stalled) socket.pause()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port, // a port, not a path
    stall: () => {
      stalled = true
      for (const socket of sockets) socket.pause()
    },
    resume: () => {
      stalled = false
      for (const socket of sockets) socket.resume()
    },
    admit: () => { stalled = false },
    cut: () => { for (const socket of sockets) socket.destroy() }
  }
}
