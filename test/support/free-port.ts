import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** Returns a port that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a port, not a path
  server.close()
  await once(server, 'close')
  return port
}
