/**
 * HTTP servers of simulated providers, which cost next to nothing: answers are rendered in advance, and
 * requests are read only up to the name of their model, which selects the answer.
 */

import type { Socket } from 'node:net'
import { eventCount, lastFrames, roleFrame, stamp, textFrame } from './answers.ts'

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n' +
  'transfer-encoding: chunked\r\n\r\n'
const bodyEnd = '0\r\n\r\n'

/** Larger requests end their connection. */
const maxRequestBytes = 32 * 1024 * 1024

/**
 * Returns a listener for the connections of a server.
 *
 * @param answer writes the answer to one complete request
 */
export function rawConnection (answer: (request: Buffer, socket: Socket) => void): (socket: Socket) => void {
  return socket => {
    let pieces: Buffer[] = []
    let sizeBytes = 0
    let missing = 0
    socket.on('error', () => socket.destroy())
    socket.on('data', bytes => {
      pieces.push(bytes)
      sizeBytes += bytes.length
      missing -= bytes.length
      if (sizeBytes > maxRequestBytes) return socket.destroy()
      if (missing > 0) return
      let pending = pieces.length === 1 ? bytes : Buffer.concat(pieces)
      for (let end = requestEnd(pending); end <= pending.length; end = requestEnd(pending)) {
        answer(pending, socket)
        pending = pending.subarray(end)
      }
      pieces = pending.length === 0 ? [] : [pending]
      sizeBytes = pending.length
      missing = pending.length === 0 ? 0 : requestEnd(pending) - pending.length
    })
  }
}

/** Returns where the first request ends; a larger number while bytes of it are missing. */
function requestEnd (bytes: Buffer): number {
  const oneMore = bytes.length + 1
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return oneMore
  const head = bytes.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head)) {
    const end = bytes.indexOf('\r\n0\r\n\r\n', headEnd)
    return end === -1 ? oneMore : end + 7
  }
  return headEnd + 4 + Number(length ?? 0)
}

/** Returns the last part of the model's name: `json` for `mock/json`, and for a request without a model. */
export function shapeOf (request: Buffer): string {
  const at = request.indexOf('"model":"')
  if (at === -1) return 'json'
  const name = request.toString('latin1', at + 9, request.indexOf('"', at + 9))
  return name.slice(name.lastIndexOf('/') + 1)
}

/** Returns a complete JSON answer with its head. */
export function jsonAnswer (body: string): Buffer {
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`
  return Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`)
}

/** Returns one chunk of a body. */
export function chunk (text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

/** Returns a whole stream as one piece of bytes, each text as an HTTP chunk. */
export function streamAtOnce (pieces: readonly string[]): Buffer {
  return Buffer.from(streamHead + pieces.map(chunk).join('') + bodyEnd)
}

/** Returns a stream as writes, each an HTTP chunk; the head is in the first, the end in the last. */
export function streamWrites (pieces: readonly string[]): Buffer[] {
  return pieces.map((piece, index) => Buffer.from(
    (index === 0 ? streamHead : '') + chunk(piece) + (index === pieces.length - 1 ? bodyEnd : '')
  ))
}

/** Writes pieces with a tick between them, so that they are not merged. */
export function writeInSlices (socket: Socket, pieces: readonly Buffer[], index = 0): void {
  const piece = pieces[index]
  if (piece === undefined || socket.destroyed) return
  socket.write(piece)
  setImmediate(writeInSlices, socket, pieces, index + 1)
}

/** Writes a stream with an event at regular intervals, each with the time at which it is written. */
export function writePaced (
  socket: Socket, everyMs: number, events: number = eventCount, last: string = lastFrames
): void {
  let written = 1
  socket.write(startOfStream(roleFrame + textFrame(stamp())))
  const timer = setInterval(() => {
    if (socket.destroyed || ++written >= events) clearInterval(timer)
    if (socket.destroyed) return
    const text = textFrame(stamp())
    socket.write(written < events ? chunk(text) : chunk(text + last) + bodyEnd)
  }, everyMs)
}

/** Returns the head of a stream and its first chunk. */
export function startOfStream (text: string): string {
  return streamHead + chunk(text)
}
