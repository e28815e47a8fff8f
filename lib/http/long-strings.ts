/**
 * Takes the long strings out of a JSON text while it arrives.
 *
 * Each is replaced by a short stand-in that nobody can guess, so what is left is JSON of ordinary
 * size, and the string is kept as a `LongText`. A long string with escapes in it stays where it
 * is: to be read it must be written anew.
 */

import { randomUUID } from 'node:crypto'
import { LongText } from '../long-text.ts'

const quote = 0x22
const backslash = 0x5c

export class LongStrings {
  readonly texts = new Map<string, LongText>()
  readonly #longBytes: number
  /** What is left of the text, as ranges of the pieces that came. */
  readonly #rest: Buffer[] = []
  /** The string that is open, without its quotes; its beginning may be pieces ago. */
  #open: Buffer[] | undefined
  #openBytes = 0
  #hasEscapes = false
  /** True when the last piece ended in the middle of an escape. */
  #midEscape = false

  /** @param longBytes a string is long from this many bytes on */
  constructor (longBytes: number) {
    this.#longBytes = longBytes
  }

  /** Ranges are made per piece and per long string, however many short ones there are. */
  push (piece: Buffer): void {
    let kept = 0
    let at = 0
    if (this.#open !== undefined) {
      const end = this.#endOfString(piece, 0)
      if (end === -1) return this.#keepOpen(piece)
      this.#close(piece.subarray(0, end))
      kept = at = end
      at++
    }
    for (;;) {
      const start = piece.indexOf(quote, at)
      if (start === -1) break
      this.#hasEscapes = false
      const end = this.#endOfString(piece, start + 1)
      if (end === -1) {
        this.#rest.push(piece.subarray(kept, start + 1))
        this.#open = []
        this.#openBytes = 0
        return this.#keepOpen(piece.subarray(start + 1))
      }
      if (end - start > this.#longBytes && !this.#hasEscapes) {
        this.#rest.push(piece.subarray(kept, start + 1))
        this.#open = []
        this.#openBytes = 0
        this.#close(piece.subarray(start + 1, end))
        kept = end
      }
      at = end + 1
    }
    this.#rest.push(piece.subarray(kept))
  }

  /** The JSON that is left. */
  end (): string {
    this.#rest.push(...this.#open ?? [])
    return Buffer.concat(this.#rest).toString()
  }

  /** Where the string that is open at `from` ends in this piece, or -1. */
  #endOfString (piece: Buffer, from: number): number {
    let at = from
    if (this.#midEscape) {
      this.#midEscape = false
      at++
    }
    const escapes = piece.indexOf(backslash, at)
    let end = piece.indexOf(quote, at)
    if (escapes === -1 || (end !== -1 && end < escapes)) return end
    this.#hasEscapes = true
    for (let escape = escapes; escape !== -1; escape = piece.indexOf(backslash, at)) {
      if (end !== -1 && end < escape) return end
      at = escape + 2
      if (at > piece.length) {
        this.#midEscape = true
        return -1
      }
      if (end !== -1 && end < at) end = piece.indexOf(quote, at)
    }
    return end
  }

  #keepOpen (bytes: Buffer): void {
    this.#open?.push(bytes)
    this.#openBytes += bytes.length
  }

  #close (last: Buffer): void {
    this.#keepOpen(last)
    const pieces = this.#open ?? []
    this.#open = undefined
    if (this.#openBytes < this.#longBytes || this.#hasEscapes) {
      this.#rest.push(...pieces)
      return
    }
    const standIn = `(${this.#openBytes} characters, ${randomUUID()})`
    this.texts.set(standIn, new LongText(pieces, this.#openBytes))
    this.#rest.push(Buffer.from(standIn))
  }
}
