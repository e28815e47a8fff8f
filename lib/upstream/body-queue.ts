/**
 * Bytes between a socket that pushes and a pipeline that pulls.
 *
 * What has arrived since the last pull is handed over as one piece, so a consumer that falls
 * behind does more per step instead of falling further behind. Above the mark the socket is
 * paused: a caller who never reads costs 64 KiB, not the whole answer.
 */

import { GatewayError } from '../core/errors.ts'
import type { UpstreamBody } from '../providers/provider.ts'

const highWaterMark = 64 * 1024

export interface BodySource {
  readonly pause: () => void
  readonly resume: () => void
  /** Discards the rest. */
  readonly cancel: () => void
}

type Result = IteratorResult<Uint8Array, undefined>

export class BodyQueue implements UpstreamBody, AsyncIterator<Uint8Array, undefined> {
  readonly #source: BodySource
  #pieces: Buffer[] = []
  #sizeBytes = 0
  #paused = false
  #ended = false
  #error: unknown
  #waiting: { resolve: (result: Result) => void, reject: (error: unknown) => void } | undefined

  constructor (source: BodySource) {
    this.#source = source
  }

  push (bytes: Buffer): void {
    if (this.#ended) return
    if (this.#waiting !== undefined) {
      const { resolve } = this.#waiting
      this.#waiting = undefined
      resolve({ done: false, value: bytes })
      return
    }
    this.#pieces.push(bytes)
    this.#sizeBytes += bytes.length
    if (this.#sizeBytes > highWaterMark && !this.#paused) {
      this.#paused = true
      this.#source.pause()
    }
  }

  end (): void {
    this.#ended = true
    this.#waiting?.resolve({ done: true, value: undefined })
    this.#waiting = undefined
  }

  /** Ends the queue with an error; what has already arrived is still handed over first. */
  fail (error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#error = error
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }

  next (): Promise<Result> {
    const [first] = this.#pieces
    if (first !== undefined) {
      const value = this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces, this.#sizeBytes)
      this.#pieces = []
      this.#sizeBytes = 0
      if (this.#paused) {
        this.#paused = false
        if (!this.#ended) this.#source.resume()
      }
      return Promise.resolve({ done: false, value })
    }
    if (this.#error !== undefined) return Promise.reject(this.#error)
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve, reject) => { this.#waiting = { resolve, reject } })
  }

  return (): Promise<Result> {
    this.cancel()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  cancel (): void {
    this.#pieces = []
    if (!this.#ended) this.#source.cancel()
  }

  async buffer (maxBytes: number): Promise<Buffer> {
    return await bufferBytes(this, maxBytes)
  }
}

/** @throws GatewayError `upstream_invalid_response` over `maxBytes`, after closing the source. */
export async function bufferBytes (source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const bytes of source) {
    sizeBytes += bytes.length
    if (sizeBytes > maxBytes) {
      throw new GatewayError('upstream_invalid_response', { message: 'The answer of the provider is too large.' })
    }
    pieces.push(bytes)
  }
  const [first] = pieces
  if (pieces.length === 1 && first instanceof Buffer) return first
  return Buffer.concat(pieces, sizeBytes)
}
