import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { eventually } from './until.ts'

/**
 * Returns a recently free port, for programs that cannot choose one themselves. It is below those that the
 * system assigns to listeners on port 0, so no other test gets it meanwhile. The same applies to the port
 * 10,000 above it, which a Redis cluster node takes too.
 */
export async function freePort (): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 22_000)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}

/**
 * Resolves when something listens on a loopback port.
 * @throws Error at the deadline
 */
export async function untilListening (port: number, ms?: number): Promise<void> {
  await eventually(async () => await isListening(port), listening => listening, `port ${port} to listen`, ms)
}

async function isListening (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
