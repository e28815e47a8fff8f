/**
 * Joins small pieces of a body.
 *
 * `node:http` delivers each chunk of a request as a piece, which takes some 250 bytes in addition to its
 * content, and a caller may put one byte into each.
 */

import { GatewayError } from '../core/errors.ts'

/** Memory of a piece in addition to its bytes. */
export const bytesPerPiece = 256
/** Smaller pieces are copied into shared memory. */
const minPieceBytes = 4 * 1024
/**
 * Maximum memory for small pieces at a time; less where less of the body is left, or its length is unknown.
 */
const sharedBytes = 16 * 1024
/** This many take half a second of CPU time, whatever they contain. */
const maxTinyPieces = 100_000
const tinyBytes = 8

export class SmallPieces {
  readonly #give: (piece: Buffer) => void
  #count = 0
  #sizeBytes = 0
  #shared: Buffer | undefined
  /** Bounds of the bytes there that have not been passed on yet. */
  #from = 0
  #to = 0

  /** @param give is called with each large or joined piece, which does not change any more */
  constructor (give: (piece: Buffer) => void) {
    this.#give = give
  }

  /**
   * @param leftBytes of the body, including these; default: unknown
   * @throws GatewayError `invalid_value` after very many tiny pieces
   */
  push (bytes: Buffer, leftBytes = minPieceBytes): void {
    this.#count++
    this.#sizeBytes += bytes.length
    if (this.#count > maxTinyPieces && this.#sizeBytes < this.#count * tinyBytes) {
      throw new GatewayError('invalid_value', {
        message: `The body has more than ${maxTinyPieces} chunks of a few bytes each. Send larger chunks.`
      })
    }
    if (bytes.length >= minPieceBytes) {
      this.flush()
      this.#give(bytes)
      return
    }
    if (this.#shared === undefined || this.#shared.length - this.#to < bytes.length) {
      this.flush()
      this.#shared = Buffer.allocUnsafeSlow(Math.min(Math.max(leftBytes, bytes.length), sharedBytes))
      this.#from = this.#to = 0
    }
    this.#to += bytes.copy(this.#shared, this.#to)
  }

  /** Passes on the last bytes. */
  flush (): void {
    if (this.#shared === undefined || this.#to === this.#from) return
    this.#give(this.#shared.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
