/** A server that writes HTTP/2 frames itself, including those that no library would write. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type TLSSocket } from 'node:tls'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { CertificateFiles } from './certificate.ts'

/** Types of frames. @see https://www.rfc-editor.org/rfc/rfc9113#section-6 */
export const frames = {
  data: 0, headers: 1, reset: 3, settings: 4, push: 5, ping: 6, goaway: 7, continuation: 9
} as const
/** Flags of frames; the first is also that of an acknowledgement. */
export const endStream = 1
export const endHeaders = 4

const prefaceBytes = 24
const headBytes = 9

export function frame (
  type: keyof typeof frames, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)
): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = frames[type]
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Returns a number in four bytes, as in the payload of frames. */
export function fourBytes (number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  return bytes
}

/** Returns a header without compression. */
export function header (name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), ...[name, value].flatMap(text => {
    const bytes = Buffer.from(text)
    return [Buffer.from([bytes.length]), bytes]
  })])
}

/** Returns the head of a response. */
export function head (stream: number, status: string, ...headers: readonly Buffer[]): Buffer {
  return frame('headers', endHeaders, stream, Buffer.concat([header(':status', status), ...headers]))
}

/** Returns the last piece of a body. */
export function lastData (stream: number, text: string): Buffer {
  return frame('data', endStream, stream, Buffer.from(text))
}

/**
 * Answers a request.
 * @param number of the request, counted from 0 over all connections
 */
export type Answer = (stream: number, number: number, socket: TLSSocket) => readonly Uint8Array[]

export interface RawHttp2 {
  readonly port: number
  /** Connections that are open. */
  readonly sockets: ReadonlySet<TLSSocket>
}

/** @param settings pairs of a setting and its value */
export async function startRawHttp2 (
  t: Test,
  { certificate, key }: CertificateFiles,
  answer: Answer,
  settings: ReadonlyArray<readonly [setting: number, value: number]> = []
): Promise<RawHttp2> {
  const sockets = new Set<TLSSocket>()
  let requests = 0
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(certificate), ALPNProtocols: ['h2'] },
    socket => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
      socket.write(frame('settings', 0, 0, Buffer.concat(settings.map(([setting, value]) =>
        Buffer.concat([fourBytes(setting).subarray(2), fourBytes(value)])))))
      let left = Buffer.alloc(0)
      let skipped = prefaceBytes
      socket.on('data', (bytes: Buffer) => {
        left = Buffer.concat([left, bytes])
        if (left.length < skipped) return
        left = left.subarray(skipped)
        skipped = 0
        for (let size = sizeOf(left); left.length >= size; size = sizeOf(left)) {
          const [type, flags, stream] = [left[3], left[4] ?? 0, left.readUInt32BE(5)]
          left = left.subarray(size)
          if (type === frames.settings && flags !== endStream) socket.write(frame('settings', endStream, 0))
          if (type === frames.headers) socket.write(Buffer.concat(answer(stream, requests++, socket)))
        }
      })
    }
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets } // a port, not a path
}

/** Returns the size of the first frame; for an incomplete header, more than there is. */
function sizeOf (bytes: Buffer): number {
  return bytes.length < headBytes ? Infinity : headBytes + bytes.readUIntBE(0, 3)
}
