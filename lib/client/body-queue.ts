/**
 * A byte queue between a socket that pushes and a pipeline that pulls.
 *
 * Everything that arrived since the last read is returned as one piece, so a slow consumer does more per step
 * instead of falling further behind. Above 32 KiB (the high-water mark) the socket is paused: a caller who
 * never reads costs that plus one read of 64 KiB, not the complete answer. Requests ask for uncompressed
 * answers; if a proxy compresses anyway, `decompressed` undoes it.
 */

import { Readable, pipeline } from 'node:stream'
import { done } from '../pipeline/sources.ts'
import { GatewayError, answerTooLarge } from '../core/errors.ts'
import { joinInSlices } from '../wire/buffer-body.ts'
import type { UpstreamBody } from '../providers/provider.ts'
import { inflater, type Inflater } from '../wire/inflater.ts'

const highWaterMark = 32 * 1024
/** Larger bodies are joined in slices. */
const largeBytes = 4 * 1024 * 1024

/** A small body as one piece, a large one as it arrived. */
type BufferedBody = readonly Buffer[]

export interface BodySource {
  readonly pause: () => void
  readonly resume: () => void
  /** Discards the rest. */
  readonly cancel: () => void
}

type Result = IteratorResult<Uint8Array, undefined>

/** Limits of a body that is read completely, see `UpstreamBody`. */
interface Bounds {
  readonly maxBytes: number
  readonly hold: ((bytes: number) => void) | undefined
}

/** The two ends of a promise. */
interface Settler<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

export class BodyQueue implements UpstreamBody, AsyncIterableIterator<Uint8Array, undefined> {
  readonly #source: BodySource
  /**
   * Unset until data arrives: a list that waits for its first piece soon moves to old space, and dead pieces
   * would be promoted with it: 3.6 MB a second for 9,800 open streams.
   */
  #pieces: Buffer[] | undefined
  #sizeBytes = 0
  #isPaused = false
  #hasEnded = false
  #error: unknown
  #pendingRead: Settler<Result> | undefined
  /** Set while the complete body is awaited. */
  #pendingBody: Settler<BufferedBody> & Bounds | undefined

  constructor (source: BodySource) {
    this.#source = source
  }

  /** @param bytes owned by the queue from now on */
  push (bytes: Buffer): void {
    if (this.#hasEnded) return
    if (this.#pendingRead !== undefined) {
      const { resolve } = this.#pendingRead
      this.#pendingRead = undefined
      resolve({ done: false, value: bytes })
      return
    }
    const piece = withoutRest(bytes)
    if (this.#pieces === undefined) this.#pieces = [piece]
    else this.#pieces.push(piece)
    this.#sizeBytes += bytes.length
    if (this.#pendingBody !== undefined) return this.#checkBounds(this.#pendingBody, bytes.length)
    if (this.#sizeBytes > highWaterMark && !this.#isPaused) {
      this.#isPaused = true
      this.#source.pause()
    }
  }

  end (): void {
    this.#hasEnded = true
    this.#pendingRead?.resolve(done)
    this.#pendingRead = undefined
    this.#pendingBody?.resolve(this.#takeBody())
    this.#pendingBody = undefined
  }

  /** Ends the queue with an error, after the data that has already arrived. */
  fail (error: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#error = error
    this.#pendingRead?.reject(error)
    this.#pendingRead = undefined
    this.#pendingBody?.reject(error)
    this.#pendingBody = undefined
  }

  next (): Promise<Result> {
    if (this.#pieces !== undefined) {
      const value = this.#takeAll()
      this.#unpause()
      return Promise.resolve({ done: false, value })
    }
    if (this.#error !== undefined) return Promise.reject(this.#error)
    if (this.#hasEnded) return Promise.resolve(done)
    return new Promise((resolve, reject) => { this.#pendingRead = { resolve, reject } })
  }

  return (): Promise<Result> {
    this.cancel()
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  cancel (): void {
    this.#pieces = undefined
    if (!this.#hasEnded) this.#source.cancel()
  }

  /** Waits for the complete body: reading piece by piece costs three promises per piece. */
  buffer (maxBytes: number, hold?: (bytes: number) => void): Buffer | Promise<Buffer> {
    // Most bodies arrive with their head.
    const isComplete =
      this.#hasEnded && this.#error === undefined && this.#sizeBytes <= Math.min(maxBytes, largeBytes)
    if (!isComplete) return this.#bufferLater({ maxBytes, hold })
    hold?.(this.#sizeBytes)
    return this.#takeAll()
  }

  async #bufferLater (bounds: Bounds): Promise<Buffer> {
    const body = await new Promise<BufferedBody>((resolve, reject) => {
      this.#pendingBody = { ...bounds, resolve, reject }
      this.#checkBounds(this.#pendingBody, this.#sizeBytes)
      if (this.#pendingBody === undefined) return // rejected
      if (this.#error === undefined && !this.#hasEnded) return this.#unpause()
      this.#pendingBody = undefined
      if (this.#error === undefined) resolve(this.#takeBody())
      else reject(this.#error)
    })
    const [first] = body
    return body.length === 1 && first !== undefined ? first : await joinInSlices(body)
  }

  #takeBody (): BufferedBody {
    if (this.#sizeBytes < largeBytes) return [this.#takeAll()]
    this.#sizeBytes = 0
    return this.#takePieces()
  }

  #takeAll (): Buffer {
    const pieces = this.#takePieces()
    const [first] = pieces
    const all = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces, this.#sizeBytes)
    this.#sizeBytes = 0
    return all
  }

  #takePieces (): Buffer[] {
    const pieces = this.#pieces ?? []
    this.#pieces = undefined
    return pieces
  }

  #unpause (): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (!this.#hasEnded) this.#source.resume()
  }

  #checkBounds ({ maxBytes, hold, reject }: Settler<BufferedBody> & Bounds, moreBytes: number): void {
    try {
      if (this.#sizeBytes > maxBytes) throw answerTooLarge()
      hold?.(moreBytes)
    } catch (error) {
      this.#pendingBody = undefined
      this.cancel()
      reject(error)
    }
  }
}

/** Copies a piece smaller than half of its read, so that it does not keep the rest in memory. */
function withoutRest (bytes: Buffer): Buffer {
  if (2 * bytes.length >= bytes.buffer.byteLength) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length) // not from the pool, which is larger
  bytes.copy(copy)
  return copy
}

/**
 * Reads a source to its end.
 *
 * @param hold see `UpstreamBody`
 * @throws GatewayError `upstream_invalid_response` over `maxBytes`, or the error of `hold`, after closing the
 *   source
 */
export async function bufferBytes (
  source: AsyncIterable<Uint8Array>, maxBytes: number, hold?: (bytes: number) => void
): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const bytes of source) {
    sizeBytes += bytes.length
    if (sizeBytes > maxBytes) throw answerTooLarge()
    hold?.(bytes.length)
    pieces.push(bytes)
  }
  const [first] = pieces
  if (pieces.length === 1 && first instanceof Buffer) return first
  return Buffer.concat(pieces, sizeBytes)
}

/** Model output compresses 20:1 at most; a much higher ratio is an attack on memory and time. */
const maxCompression = 200
const compressionCheckFromBytes = 1024 * 1024

/**
 * Removes the content encoding of a body. Output is flushed immediately, so event streams are not delayed.
 *
 * @throws GatewayError while reading: `upstream_invalid_response` for an unknown encoding, invalid data, or
 *   at least a megabyte compressed over 200:1; `upstream_stream_interrupted` for a truncated body
 */
export function decompressed (body: UpstreamBody, encoding: string | string[]): UpstreamBody {
  const inflate = inflater(String(encoding))
  if (inflate === 'identity') return body
  if (inflate === undefined) {
    return unreadable(
      body,
      new GatewayError('upstream_invalid_response', { cause: `content-encoding ${String(encoding)}` })
    )
  }
  // The reader below receives every error of the chain as the stream's own.
  pipeline(Readable.from(body, { objectMode: false }), inflate, () => {
    /* see the reader */
  })
  // Stays attached: zlib and the pipeline finish before zlib reports missing bytes.
  inflate.on('error', () => {
    /* see the reader */
  })
  return {
    [Symbol.asyncIterator]: () => reading(inflate),
    buffer: async (maxBytes, hold) => await bufferBytes(reading(inflate), maxBytes, hold),
    cancel: () => {
      inflate.destroy()
      body.cancel()
    }
  }
}

async function * reading (inflate: Inflater): AsyncGenerator<Uint8Array, undefined, undefined> {
  try {
    let sizeBytes = 0
    for await (const bytes of inflate as AsyncIterable<Uint8Array>) { // a byte stream yields buffers
      sizeBytes += bytes.length
      if (sizeBytes > compressionCheckFromBytes && sizeBytes > maxCompression * inflate.bytesWritten) {
        throw new GatewayError('upstream_invalid_response', {
          cause: `the body is compressed more than ${maxCompression}:1`
        })
      }
      yield bytes
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error
    const code = (error as NodeJS.ErrnoException).code // an error of zlib or of the stream
    throw new GatewayError(
      code === 'Z_BUF_ERROR' ? 'upstream_stream_interrupted' : 'upstream_invalid_response',
      { cause: error }
    )
  }
}

/** Closes the connection on the first read. */
function unreadable (body: UpstreamBody, error: GatewayError): UpstreamBody {
  const refuse = async (): Promise<never> => {
    body.cancel()
    return await Promise.reject(error)
  }
  return { [Symbol.asyncIterator]: () => ({ next: refuse }), buffer: refuse, cancel: () => body.cancel() }
}
