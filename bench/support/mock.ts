/**
 * A provider that costs next to nothing: answers are rendered once, requests are looked at only
 * up to the model's name, which says what to answer (`answerTo`).
 *
 * Run as `node mock.js <port> [<port for TLS> <its key> <its certificate>]`.
 */

import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import {
  eventCount, lastFrames, letterTexts, roleFrame, stamp, streamPieces, textFrame, texts, completeAnswer
} from './answers.ts'
import { dialects } from './dialects.ts'
import { media } from './media.ts'
import { completeResponse, responsePieces } from './responses.ts'

const endlessBytes = 64 * 1024 * 1024

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n' +
  'transfer-encoding: chunked\r\n\r\n'
const bodyEnd = '0\r\n\r\n'

const json = jsonAnswer(completeAnswer)
const oneEvent = Buffer.from(streamHead + streamPieces(1, texts.slice(0, 1)).map(chunk).join('') + bodyEnd)
const atOnce = Buffer.from(streamHead + streamPieces(1).map(chunk).join('') + bodyEnd)
const eights = writes(streamPieces(8))
const letters = writes(streamPieces(8, letterTexts))
/** Answers of other dialects, by what their paths hold. */
const foreign = [
  ...dialects.filter(({ kind }) => kind === 'anthropic' || kind === 'google').map(({ kind, complete, pieces }) => ({
    path: kind === 'anthropic' ? '/messages' : 'enerateContent', json: jsonAnswer(complete), eights: writes(pieces(8))
  })),
  { path: '/responses', json: jsonAnswer(completeResponse), eights: writes(responsePieces(8)) }
]
const large = media.map(({ path, answer: { contentType, body } }) => ({
  path,
  bytes: Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncontent-length: ${body.length}\r\n\r\n`), body])
}))
const block = Buffer.from(chunk(streamPieces(8)[1] ?? ''))

const [port, securePort, key, certificate] = process.argv.slice(2)
createServer({ noDelay: true }, serve).listen(Number(port), '127.0.0.1', 4096)
if (securePort !== undefined && key !== undefined && certificate !== undefined) {
  createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate) }, serve).listen(Number(securePort), '127.0.0.1', 4096)
}

function serve (socket: Socket): void {
  let pieces: Buffer[] = []
  let missing = 0
  socket.on('error', () => socket.destroy())
  socket.on('data', bytes => {
    pieces.push(bytes)
    missing -= bytes.length
    if (missing > 0) return
    let pending = pieces.length === 1 ? bytes : Buffer.concat(pieces)
    for (let end = requestEnd(pending); end <= pending.length; end = requestEnd(pending)) {
      answer(pending, socket)
      pending = pending.subarray(end)
    }
    pieces = pending.length === 0 ? [] : [pending]
    missing = pending.length === 0 ? 0 : requestEnd(pending) - pending.length
  })
}

function answer (request: Buffer, socket: Socket): void {
  const target = request.toString('latin1', 0, request.indexOf('\r\n'))
  const dialect = foreign.find(({ path }) => target.includes(path))
  const medium = large.find(({ path }) => target.includes(path))
  if (medium !== undefined) socket.write(medium.bytes)
  else if (dialect === undefined) answerTo(shapeOf(request), socket)
  else if (target.includes('streamGenerate') || request.includes('"stream":true')) writeInTurns(socket, dialect.eights, 0)
  else socket.write(dialect.json)
}

/**
 * `json`, `one` event, 200 events: `eights` (one write each, unpaced), `letters` (the same beyond ASCII), `chunks` (one write for
 * all, an HTTP chunk each), `paced-<ms>[-<events>]` (one write each, with the time in its text),
 * `endless` for callers who do not read.
 */
function answerTo (shape: string, socket: Socket): void {
  const [kind, ...numbers] = shape.split('-')
  switch (kind) {
    case 'one': socket.write(oneEvent); break
    case 'chunks': socket.write(atOnce); break
    case 'eights': writeInTurns(socket, eights, 0); break
    case 'letters': writeInTurns(socket, letters, 0); break
    case 'paced': writePaced(socket, Number(numbers[0]), Number(numbers[1] ?? eventCount)); break
    case 'endless': writeEndless(socket); break
    default: socket.write(json)
  }
}

/** Returns where the first request ends; more than there is while bytes of it are missing. */
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

function shapeOf (bytes: Buffer): string {
  const at = bytes.indexOf('"model":"')
  if (at === -1) return 'json'
  const name = bytes.toString('latin1', at + 9, bytes.indexOf('"', at + 9))
  return name.slice(name.lastIndexOf('/') + 1)
}

function jsonAnswer (body: string): Buffer {
  return Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function chunk (text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

/** One HTTP chunk per write; the head goes with the first, the end of the body with the last. */
function writes (pieces: readonly string[]): Buffer[] {
  return pieces.map((piece, index) => Buffer.from(
    (index === 0 ? streamHead : '') + chunk(piece) + (index === pieces.length - 1 ? bodyEnd : '')
  ))
}

/** A turn of the loop between two writes, so that they do not become one. */
function writeInTurns (socket: Socket, pieces: readonly Buffer[], index: number): void {
  const piece = pieces[index]
  if (piece === undefined || socket.destroyed) return
  socket.write(piece)
  setImmediate(writeInTurns, socket, pieces, index + 1)
}

function writePaced (socket: Socket, everyMs: number, events: number): void {
  let written = 1
  socket.write(streamHead + chunk(roleFrame + textFrame(stamp())))
  const timer = setInterval(() => {
    if (socket.destroyed || ++written >= events) clearInterval(timer)
    if (socket.destroyed) return
    const text = textFrame(stamp())
    socket.write(written < events ? chunk(text) : chunk(text + lastFrames) + bodyEnd)
  }, everyMs)
}

function writeEndless (socket: Socket): void {
  let sizeBytes = 0
  socket.write(streamHead + chunk(roleFrame))
  const more = (): void => {
    while (!socket.destroyed && sizeBytes < endlessBytes) {
      sizeBytes += block.length
      if (!socket.write(block)) {
        socket.once('drain', more)
        return
      }
    }
  }
  more()
}
