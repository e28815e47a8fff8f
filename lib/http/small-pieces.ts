/**
 * Puts small pieces of a body together.
 *
 * `node:http` gives each chunk of a request as a piece, which takes some 250 bytes beside its own, and a
 * caller may put one byte into each.
 */

/** Memory of a piece beside its bytes. */
export const bytesPerPiece = 256
/** Smaller pieces are copied into memory that they share. */
const minPieceBytes = 4 * 1024
/** The most memory for them at a time; less where less of the body is left, or its length is not known. */
const sharedBytes = 16 * 1024

export class SmallPieces {
  readonly #give: (piece: Buffer) => void
  #shared: Buffer | undefined
  /** Bounds of the bytes there that are not given yet. */
  #from = 0
  #to = 0

  /** @param give is called with each piece that is large, or put together; it does not change any more */
  constructor (give: (piece: Buffer) => void) {
    this.#give = give
  }

  /** @param leftBytes of the body, these included; default: not known */
  push (bytes: Buffer, leftBytes = minPieceBytes): void {
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

  /** Gives what came last. */
  flush (): void {
    if (this.#shared === undefined || this.#to === this.#from) return
    this.#give(this.#shared.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
