/** Connections on which a test writes its own bytes, and reads when it chooses. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { testKey } from './gateway.ts'
import type { Test } from 'tap'

/** Opens a connection that is closed when the test ends. */
export async function raw (t: Test, url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Returns a chat request as text; `headers` come last, so that one of them can replace another. */
export function requestText (body: string, headers: readonly string[] = []): string {
  return [
    'POST /v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${testKey}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body
  ].join('\r\n')
}

/** Reads the remaining bytes after the other side has closed. */
export async function rest (socket: Socket): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of socket) pieces.push(piece as Buffer) // no encoding is set
  return Buffer.concat(pieces).toString()
}
