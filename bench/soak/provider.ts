/** A fake provider whose behaviour is a function of the request. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeProvider {
  readonly port: number
  /** Requests so far. */
  readonly requests: () => number
  readonly close: () => void
}

/** @param answer called with each request once its body has been read */
export async function fakeProvider (
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void
): Promise<FakeProvider> {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    const pieces: Buffer[] = []
    response.on('error', () => response.destroy())
    request.on('data', (piece: Buffer) => { pieces.push(piece) })
    request.on('end', () => answer(request, response, Buffer.concat(pieces).toString()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP
  return {
    port,
    requests: () => requests,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

/** Answers with JSON. */
export function sendJson (response: ServerResponse, text: string, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}
