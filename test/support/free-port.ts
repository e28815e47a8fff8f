import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { eventually } from './until.ts'

/** Returns a port that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a port, not a path
  server.close()
  await once(server, 'close')
  return port
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
