/**
 * The body of a form on its way to the parser: limited in size, split into pieces so that other calls can run
 * in between, and without input that makes the parser slow.
 */

import { Transform, type TransformCallback } from 'node:stream'
import { GatewayError } from '../core/errors.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { SmallPieces, bytesPerPiece } from './small-pieces.ts'
import type { RequestBody } from './request-body.ts'

/** Bytes read before other calls get a turn: a socket can deliver 2 MB in one tick. */
const maxBytesPerTick = 256 * 1024

/**
 * Formidable emits several events for each carriage return, since a boundary may begin there. A body of
 * nothing else would keep the process busy for seconds. Recordings and images have one in 256 bytes.
 */
const carriageReturn = 0x0d
const windowBytes = 64 * 1024
const maxCarriageReturns = windowBytes / 16

export interface BoundedBodyOptions {
  readonly maxBytes: number
  /** Bytes of boundaries and headers, and of parts that the parser has not handed over yet. */
  readonly maxFramingBytes: number
  /** Returns the bytes of parts that the parser has handed over. */
  readonly partBytes: () => number
}

export class BoundedBody extends Transform {
  /** As the parser reads them. */
  readonly headers: RequestBody['headers']
  /** Rejects with the first error. */
  readonly failed: Promise<never>
  readonly #options: BoundedBodyOptions
  #passedBytes = 0
  #unpausedBytes = 0
  #bytesInWindow = 0
  #carriageReturns = 0
  readonly #pieces = new SmallPieces(piece => { this.push(piece) })

  constructor ({ headers }: Pick<RequestBody, 'headers'>, options: BoundedBodyOptions) {
    super()
    this.headers = headers
    this.#options = options
    this.failed = new Promise((_resolve, reject) => { this.once('error', reject) })
  }

  override _transform (bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const { maxBytes, maxFramingBytes, partBytes } = this.#options
    if (this.#passedBytes + bytes.length > maxBytes) return done(new GatewayError('file_too_large'))
    if (this.#passedBytes - partBytes() > maxFramingBytes) {
      return done(
        new GatewayError('invalid_value', {
          message: `The boundaries and headers of the form are larger than ${maxFramingBytes / 1024} KB.`
        })
      )
    }
    if (this.#hasTooManyCarriageReturns(bytes)) {
      return done(
        new GatewayError('invalid_value', {
          message: 'The form contains too many carriage returns. Check that the file is not corrupted.'
        })
      )
    }
    this.#passedBytes += bytes.length
    try {
      this.#pieces.push(bytes)
    } catch (error) {
      return done(error as Error) // the only one it throws is a GatewayError
    }
    this.#unpausedBytes += bytes.length + bytesPerPiece
    if (this.#unpausedBytes < maxBytesPerTick) return done()
    this.#unpausedBytes = 0
    void yieldFairly().then(() => done())
  }

  override _flush (done: TransformCallback): void {
    this.#pieces.flush()
    done()
  }

  #hasTooManyCarriageReturns (bytes: Buffer): boolean {
    for (
      let at = bytes.indexOf(carriageReturn);
      at !== -1 && this.#carriageReturns <= maxCarriageReturns;
      at = bytes.indexOf(carriageReturn, at + 1)
    ) {
      this.#carriageReturns++
    }
    if (this.#carriageReturns > maxCarriageReturns) return true
    this.#bytesInWindow += bytes.length
    if (this.#bytesInWindow >= windowBytes) this.#bytesInWindow = this.#carriageReturns = 0
    return false
  }
}
