import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { eventually } from './until.ts'

/**
 * Returns a port that was free a moment ago, for programs that cannot choose one themselves. It is below
 * those that the system gives to whoever listens on port 0, so no other test gets it meanwhile, and so is
 * the port 10,000 above it, which a node of a Redis cluster takes as well.
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

/** Resolves when something listens on a port of loopback. @throws Error when the time is over */
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
