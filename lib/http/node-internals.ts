/**
 * Uses Node and Koa beyond their documented behaviour: every such use is in this file.
 *
 * Each says why it is worth it. `test/http/node-internals.test.ts` fails for each when a new version
 * of Node or Koa works differently; what to do without it stands there too.
 */

import { property } from '../json/guards.ts'
import { STATUS_CODES, type ServerResponse, type Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import Koa, { type Context } from 'koa'
import { asGatewayError } from '../core/errors.ts'
import type { Duplex } from 'node:stream'

/**
 * Writes the head of a response, its headers as lines that `node:http` adds its own to: it would look at each name and value twice, and
 * takes 3 of the 83 µs of a JSON call for that. Whatever asks for more than lines goes the documented way.
 *
 * @param sizeBytes of the body, where it is known
 * @throws TypeError for a header that cannot be sent
 */
export function writeHead (response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, sizeBytes?: number): void {
  const lines = mayWriteLines(response, status) ? printHeaders(headers) : undefined
  const storeHeader: unknown = Reflect.get(response, '_storeHeader')
  if (lines === undefined || typeof storeHeader !== 'function') {
    response.writeHead(status, { ...headers, ...lengthHeader(sizeBytes) })
    return
  }
  response.statusCode = status
  storeHeader.call(response, `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${lines}`, lengthHeader(sizeBytes))
}

/** Returns the header from which `node:http` takes how the body is framed. */
function lengthHeader (sizeBytes: number | undefined): Record<string, string> | undefined {
  return sizeBytes === undefined ? undefined : { 'content-length': String(sizeBytes) }
}

/** Returns whether a head is made of its own lines and those of the connection alone: of a response that has a body, to a caller of today. */
function mayWriteLines (response: ServerResponse, status: number): boolean {
  return Number.isInteger(status) && status >= 200 && status <= 999 && status !== 204 && status !== 304 && response.useChunkedEncodingByDefault &&
    !response.headersSent && response.req.method !== 'HEAD' && response.req.headers.expect === undefined && response.getHeaderNames().length === 0 &&
    !Object.hasOwn(response, 'writeHead') // by which others see each head
}

/** Matches the name of a header that has its place in a head without meaning anything to `node:http`. */
const plainName = /^(?!(?:connection|content-length|date|expect|keep-alive|trailer|transfer-encoding)$)[!#-'*+.^_`|~\w-]+$/i
const plainValue = /^[\t\x20-\x7e\x80-\xff]*$/
/** Names of headers, and whether they are plain: nearly all answers have the same ones. */
const knownNames = new Map<string, boolean>()
const maxKnownNames = 200

/** Returns the headers as lines; `undefined` where one is not plain. A name and a value are tested by themselves: V8 would copy a line first. */
function printHeaders (headers: Readonly<Record<string, string>>): string | undefined {
  let lines = ''
  for (const name in headers) {
    const value = headers[name]
    if (typeof value !== 'string' || !isPlainName(name) || !plainValue.test(value)) return undefined
    lines += `${name}: ${value}\r\n`
  }
  return lines
}

function isPlainName (name: string): boolean {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  const isPlain = plainName.test(name)
  if (knownNames.size < maxKnownNames) knownNames.set(name, isPlain)
  return isPlain
}

/**
 * Writes a piece as one HTTP chunk, text with one write to the socket. `node:http` makes four of it (size, line
 * end, text, line end) and looks for non-ASCII text twice. The flag says how the body is framed: it is
 * off while a chunk that is framed already is written. Bytes are framed here as well: Node.js 26 keeps the chunks
 * that it frames itself until the end of the turn, and text written meanwhile would overtake them.
 *
 * @returns whether there is room for more
 */
export function writeChunk (response: ServerResponse, piece: string | Uint8Array): boolean {
  if (piece.length === 0 || !response.chunkedEncoding) return response.write(piece)
  response.chunkedEncoding = false
  try {
    return writeFramed(response, [piece], '\r\n')
  } finally {
    response.chunkedEncoding = true
  }
}

/**
 * Gives the system what is written, and returns whether bytes still wait for the caller to read. `write` keeps them until the end of the turn,
 * and says that there is no room for more when they are many; mostly the system takes all of them.
 */
export function flushedMustWait (response: ServerResponse): boolean {
  response.socket?.uncork()
  return response.writableLength > 0
}

/**
 * Ends a response with its last pieces as one chunk and the end of its chunks, in one packet: `end` would make another of the latter.
 */
export function endWithChunk (response: ServerResponse, ...pieces: ReadonlyArray<string | Uint8Array>): void {
  const given = pieces.filter(({ length }) => length > 0)
  if (given.length > 0 && response.chunkedEncoding) {
    response.chunkedEncoding = false
    writeFramed(response, given, '\r\n0\r\n\r\n')
    response.socket?.uncork()
  } else {
    for (const piece of given) response.write(piece)
  }
  response.end()
}

/** To copy so few bytes costs less than to write them in parts. */
const copiedBytes = 16 * 1024

/** Writes pieces as one chunk. @param ending what follows them */
function writeFramed (response: ServerResponse, pieces: ReadonlyArray<string | Uint8Array>, ending: string): boolean {
  let sizeBytes = 0
  let length = 0
  for (const piece of pieces) {
    sizeBytes += Buffer.byteLength(piece)
    length += piece.length
  }
  const size = `${sizeBytes.toString(16)}\r\n`
  if (sizeBytes > copiedBytes) {
    response.write(size, 'latin1')
    for (const piece of pieces) response.write(piece, encodingOf(piece))
    return response.write(ending, 'latin1')
  }
  const texts = pieces.filter(piece => typeof piece === 'string')
  if (texts.length === pieces.length) return response.write(`${size}${texts.join('')}${ending}`, sizeBytes === length ? 'latin1' : 'utf8')
  return response.write(Buffer.concat([Buffer.from(size), ...pieces.map(asBuffer), Buffer.from(ending)]))
}

function encodingOf (piece: string | Uint8Array): BufferEncoding {
  return typeof piece === 'string' && Buffer.byteLength(piece) === piece.length ? 'latin1' : 'utf8'
}

function asBuffer (piece: string | Uint8Array): Uint8Array {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
}

/**
 * Ends a response with its complete body in one packet with the head. `end(body)` corks the socket and
 * adds an empty write, and the `writev` of both costs 2 µs more than one `write`.
 *
 * @param sizeBytes of the body: text that is as long as its bytes is ASCII, and needs no encoding
 */
export function endInOneWrite (response: ServerResponse, body: string | Uint8Array, sizeBytes: number): void {
  // Bytes would be a write beside the head.
  const text = typeof body === 'string' || sizeBytes > copiedBytes ? body : Buffer.from(body.buffer, body.byteOffset, sizeBytes).toString('latin1')
  response.write(text, typeof text === 'string' && text.length === sizeBytes ? 'latin1' : 'utf8')
  response.socket?.uncork()
  response.end()
}

/**
 * Lets go of the text of a head that was sent: until the end of the response only whether there is one matters. `node:http`
 * puts it together of 40 pieces, 1.3 KB that an open stream would hold.
 */
export function releaseHead (response: ServerResponse): void {
  Reflect.set(response, '_header', 'sent')
}

/**
 * Makes a response end with its connection. One that waits behind another response of its connection
 * has no socket yet, and Node before 24 never emits `close` on it.
 */
export function closeWaitingResponse (response: ServerResponse): void {
  if (response.closed) return
  response.destroy()
  response.emit('close')
}

/** Returns whether a response waits behind another one of its connection. */
export function waitsForConnection (response: ServerResponse): boolean {
  return response.socket === null
}

/**
 * Stops accepting connections and leaves the open ones alone. `close` of an HTTP server also destroys
 * connections it takes for idle, those among them whose last bytes are still being sent.
 */
export function stopAccepting (server: Server): Promise<void> {
  return new Promise(resolve => { NetServer.prototype.close.call(server, () => resolve()) })
}

/** Returns whether an answer has begun on a connection: none can follow it. Node's own handler of `clientError` looks there as well. */
export function hasBegunAnswer (socket: Duplex): boolean {
  return property(property(socket, '_httpMessage'), 'headersSent') === true
}

/**
 * Koa without its own handling of a response. That listens for the end of every response, to report
 * what is reported here anyway, and answers for middleware that has not: 5 µs a request.
 */
export class KoaWithoutResponseHandling extends Koa {
  async handleRequest (context: Context, middleware: (context: Context) => Promise<void>): Promise<void> {
    try {
      await middleware(context)
    } catch (error) {
      context.onerror(asGatewayError(error))
    }
  }
}
