/**
 * A provider of negligible cost: answers are rendered once, and requests are read only up to the model's
 * name, which selects the answer (`answerTo`).
 *
 * Run as `node mock.js <port> [<port for TLS> <its key> <its certificate>]`.
 */

import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import {
  eventCount, letterTexts, roleFrame, streamPieces, texts, completeAnswer
} from '../../lib/load/answers.ts'
import {
  chunk,
  jsonAnswer,
  rawConnection,
  shapeOf,
  startOfStream,
  streamAtOnce,
  streamWrites,
  writeInSlices,
  writePaced
} from '../../lib/load/raw-server.ts'
import { dialects } from './dialects.ts'
import { media } from './media.ts'
import { completeResponse, responsePieces } from './responses.ts'

const endlessBytes = 64 * 1024 * 1024

const json = jsonAnswer(completeAnswer)
const oneEvent = streamAtOnce(streamPieces(1, texts.slice(0, 1)))
const atOnce = streamAtOnce(streamPieces(1))
const eights = streamWrites(streamPieces(8))
const letters = streamWrites(streamPieces(8, letterTexts))
/** Answers of other dialects, by a part of the path. */
const foreign = [
  ...dialects
    .filter(({ kind }) => kind === 'anthropic' || kind === 'google')
    .map(({ kind, complete, pieces }) => ({
      path: kind === 'anthropic' ? '/messages' : 'enerateContent',
      json: jsonAnswer(complete),
      eights: streamWrites(pieces(8))
    })),
  { path: '/responses', json: jsonAnswer(completeResponse), eights: streamWrites(responsePieces(8)) }
]
const large = media.map(({ path, answer: { contentType, body } }) => ({
  path,
  bytes: Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncontent-length: ${body.length}\r\n\r\n`),
    body
  ])
}))
const block = Buffer.from(chunk(streamPieces(8)[1] ?? ''))

const [port, securePort, key, certificate] = process.argv.slice(2)
createServer({ noDelay: true }, rawConnection(answer)).listen(Number(port), '127.0.0.1', 4096)
if (securePort !== undefined && key !== undefined && certificate !== undefined) {
  createSecureServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    rawConnection(answer)
  ).listen(Number(securePort), '127.0.0.1', 4096)
}

function answer (request: Buffer, socket: Socket): void {
  const target = request.toString('latin1', 0, request.indexOf('\r\n'))
  const dialect = foreign.find(({ path }) => target.includes(path))
  const medium = large.find(({ path }) => target.includes(path))
  if (medium !== undefined) socket.write(medium.bytes)
  else if (dialect === undefined) answerTo(shapeOf(request), socket)
  else if (target.includes('streamGenerate') || request.includes('"stream":true'))
    writeInSlices(socket, dialect.eights)
  else socket.write(dialect.json)
}

/**
 * `json`, `one` event, 200 events: `eights` (one write each, unpaced), `letters` (the same beyond ASCII),
 * `chunks` (one write for all, an HTTP chunk each), `paced-<ms>[-<events>]` (one write each, with the time in
 * its text), `endless` for callers who do not read.
 */
function answerTo (shape: string, socket: Socket): void {
  const [kind, ...numbers] = shape.split('-')
  switch (kind) {
    case 'one': socket.write(oneEvent); break
    case 'chunks': socket.write(atOnce); break
    case 'eights': writeInSlices(socket, eights); break
    case 'letters': writeInSlices(socket, letters); break
    case 'paced': writePaced(socket, Number(numbers[0]), Number(numbers[1] ?? eventCount)); break
    case 'endless': writeEndless(socket); break
    default: socket.write(json)
  }
}

function writeEndless (socket: Socket): void {
  let sizeBytes = 0
  socket.write(startOfStream(roleFrame))
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
