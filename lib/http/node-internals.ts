/**
 * Every use of undocumented behaviour of Node.js in the project is in this file.
 *
 * Each says why it is worth it. `test/http/node-internals.test.ts` fails for each when a new version of
 * Node.js works differently, and says what to do without it.
 */

import { Server as NetServer } from 'node:net'
import type { Server, ServerResponse } from 'node:http'

/** Copying up to this many bytes costs less than writing them in parts. */
const maxCopiedBytes = 16 * 1024

/**
 * Writes a piece as one HTTP chunk, usually with one write to the socket. `node:http` makes four writes of it
 * (size, line end, text, line end) and searches the text twice for non-ASCII characters. The flag tells how
 * the body is framed: it is off while a chunk that is already framed is written. Bytes are framed here as
 * well: Node.js 26 keeps chunks that it frames itself until the end of the tick, and text written in between
 * would overtake them.
 *
 * @returns false when the caller should wait for `drain`
 */
export function writeChunk (response: ServerResponse, piece: string | Uint8Array): boolean {
  if (piece.length === 0 || !response.chunkedEncoding) return response.write(piece)
  response.chunkedEncoding = false
  try {
    return writeFramed(response, piece)
  } finally {
    response.chunkedEncoding = true
  }
}

function writeFramed (response: ServerResponse, piece: string | Uint8Array): boolean {
  const sizeBytes = Buffer.byteLength(piece)
  const size = `${sizeBytes.toString(16)}\r\n`
  const encoding = sizeBytes === piece.length ? 'latin1' : 'utf8'
  if (sizeBytes > maxCopiedBytes) {
    response.write(size, 'latin1')
    response.write(piece, encoding)
    return response.write('\r\n', 'latin1')
  }
  if (typeof piece === 'string') return response.write(`${size}${piece}\r\n`, encoding)
  return response.write(Buffer.concat([Buffer.from(size), piece, Buffer.from('\r\n')]))
}

/** Returns whether a response waits behind another one on its connection. */
export function isPipelined (response: ServerResponse): boolean {
  return response.socket === null
}

/**
 * Makes a response end with its connection. A response that waits behind another one has no socket yet, and
 * Node.js before 24 never emits `close` on it.
 */
export function closeWaitingResponse (response: ServerResponse): void {
  if (response.closed) return
  response.destroy()
  response.emit('close')
}

/**
 * Stops accepting connections and leaves open ones alone. `close` of an HTTP server also destroys connections
 * that it considers idle, including some whose last bytes are still being sent.
 */
export function stopAccepting (server: Server): Promise<void> {
  return new Promise(resolve => { NetServer.prototype.close.call(server, () => resolve()) })
}

/**
 * Keeps a worker alive after its primary has exited: Node.js would end it immediately, before it answers its
 * calls and stores their records.
 */
export function outlivePrimary (worker: { exitedAfterDisconnect: boolean }): void {
  worker.exitedAfterDisconnect = true
}
