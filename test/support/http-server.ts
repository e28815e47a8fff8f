/** A bare HTTP server for tests of request handlers. */

import { once } from 'node:events'
import { createServer, type Server, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Listens on a free port until the test ends. */
export async function httpServer (
  t: Test,
  listener: RequestListener
): Promise<{ readonly server: Server, readonly url: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.teardown(() => { server.close().closeAllConnections() })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP
  return { server, url: `http://127.0.0.1:${port}` }
}
