/**
 * A text of a JSON body that is kept as the bytes that arrived.
 *
 * A document of 50 MB is 67 MB of base64. As a string it would be in memory once more for the
 * body, once for its JSON and once for every request that is made of it; here it is there once.
 */
export class LongText {
  readonly sizeBytes: number
  #pieces: readonly Buffer[]

  /** @param pieces one after the other; none is changed any more */
  constructor (pieces: readonly Buffer[], sizeBytes: number) {
    this.#pieces = pieces
    this.sizeBytes = sizeBytes
  }

  /** The first characters, taken for Latin-1. */
  head (length: number): string {
    let text = ''
    for (const piece of this.#pieces) {
      text += piece.toString('latin1', 0, length - text.length)
      if (text.length >= length) break
    }
    return text
  }

  /** Gives the bytes away, piece by piece, each of which can then be forgotten. Only once. */
  * take (): Generator<Buffer, void> {
    const pieces = [...this.#pieces].reverse()
    this.#pieces = []
    for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) yield piece
  }
}
