/**
 * Counts the values of a JSON text while it arrives, without parsing it.
 *
 * Every comma, colon and opening bracket outside a string stands for a value or a key, so `count` is
 * never less than what a parser would make. Strings are skipped by `indexOf`, which looks at many
 * bytes at a time.
 */

import { closeList, closeObject, colon, comma, openList, openObject, quote } from './characters.ts'
import { closingQuote, isEscaped } from './string-end.ts'

/**
 * A key, text, object or list takes a parser about as long as that many numbers: 500,000 numbers are
 * parsed in 10 to 50 ms, 500,000 distinct keys in 250.
 */
const structureWeight = 8

/** Memory of one value or key once parsed: distinct keys of large objects take most. */
export const valueBytes = 128

/** Returns the highest cost that a text of so many bytes can have. */
export function maxParseCost (sizeBytes: number): number {
  return 1 + structureWeight * sizeBytes
}

export class ValueCounter {
  /** Values and keys so far, and one for the text itself. */
  count = 1
  /** Levels of lists and objects at the deepest place so far. */
  deepest = 0
  #depth = 0
  /** Keys, strings, objects and lists so far. */
  #structures = 0
  /** Bytes in strings of at least `longBytes`. */
  largeStringBytes = 0
  readonly #longBytes: number
  /** Bytes of the string that is open, without its quotes; -1 outside strings. */
  #openBytes = -1
  /** True when the last piece ended in the middle of an escape. */
  #isEscaped = false

  /** @param longBytes a string is long from this many bytes on */
  constructor (longBytes: number) {
    this.#longBytes = longBytes
  }

  /** Time to parse the text, in numbers: keys, strings, objects and lists weigh eight. */
  get parseCost (): number {
    return this.count + (structureWeight - 1) * this.#structures
  }

  /** True when the last piece ended inside a string. */
  get isInString (): boolean {
    return this.#openBytes !== -1
  }

  push (piece: Buffer): void {
    let at = this.#openBytes === -1 ? 0 : this.#skipString(piece, 0)
    while (at < piece.length) {
      const byte = piece[at]
      at++
      if (byte === quote) {
        this.#structures++
        this.#openBytes = 0
        at = this.#skipString(piece, at)
      } else if (byte === comma || byte === colon) this.count++
      else if (byte === openList || byte === openObject) {
        this.count++
        this.#structures++
        if (++this.#depth > this.deepest) this.deepest = this.#depth
      } else if (byte === closeList || byte === closeObject) this.#depth--
    }
  }

  /** Returns where the text goes on after the string that is open at `from`. */
  #skipString (piece: Buffer, from: number): number {
    let at = from
    if (this.#isEscaped && at < piece.length) {
      this.#isEscaped = false
      at++
    }
    const end = closingQuote(piece, at)
    this.#grow((end === -1 ? piece.length : end) - from)
    if (end === -1) {
      this.#isEscaped = isEscaped(piece, piece.length, at)
      return piece.length
    }
    this.#openBytes = -1
    return end + 1
  }

  #grow (bytes: number): void {
    const wasLong = this.#openBytes >= this.#longBytes
    this.#openBytes += bytes
    if (wasLong) this.largeStringBytes += bytes
    else if (this.#openBytes >= this.#longBytes) this.largeStringBytes += this.#openBytes
  }
}
