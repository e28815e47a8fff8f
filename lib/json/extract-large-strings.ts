/**
 * Takes the long strings out of a JSON text while it arrives.
 *
 * Each is replaced by a short placeholder that callers cannot guess, so what is left is JSON of ordinary
 * size, and the string is kept as a `LargeString`. Of escapes only `\/` is undone, which some
 * languages write for every slash; a long string with others stays where it is.
 */

import { randomUUID } from 'node:crypto'
import { LargeString } from '../core/large-string.ts'
import { backslash, quote } from './characters.ts'

const slash = 0x2f

export class LargeStringExtractor {
  readonly largeStrings = new Map<string, LargeString>()
  readonly #longBytes: number
  /** The JSON that is left once all has come, as ranges of the pieces. */
  readonly rest: Buffer[] = []
  #roomBytes = 0
  #room: Buffer | undefined
  #used = 0
  /** The string that is open, without its quotes: ranges of pieces, as long as it is short. */
  #open: Buffer[] | undefined
  #openBytes = 0
  #hasEscapes = false
  /** True when the last piece ended in the middle of an escape. */
  #midEscape = false
  /** The place of the last backslash that was looked for in the present piece; infinity when there is none. */
  #escapeAt = -1

  /** @param longBytes a string is long from this many bytes on */
  constructor (longBytes: number) {
    this.#longBytes = longBytes
  }

  /**
   * Prepares for so many bytes; to be called first. Memory is taken with the first long string, and used
   * as it fills.
   */
  expect (bytes: number): void {
    this.#roomBytes = bytes
  }

  /**
   * Takes the next piece, which must not change any more. Ranges are made per piece and per long
   * string, however many short strings there are.
   */
  push (piece: Buffer): void {
    this.#escapeAt = -1
    let kept = 0
    let at = 0
    if (this.#open !== undefined) {
      const end = this.#endOfString(piece, 0)
      if (end === -1) return this.#keepOpen(piece)
      this.#close(piece.subarray(0, end))
      kept = end
      at = end + 1
    }
    for (let start = piece.indexOf(quote, at); start !== -1; start = piece.indexOf(quote, at)) {
      this.#hasEscapes = false
      const end = this.#endOfString(piece, start + 1)
      if (end === -1 || end - start > this.#longBytes) {
        this.rest.push(piece.subarray(kept, start + 1))
        this.#open = []
        this.#openBytes = 0
        if (end === -1) return this.#keepOpen(piece.subarray(start + 1))
        this.#close(piece.subarray(start + 1, end))
        kept = end
      }
      at = end + 1
    }
    this.rest.push(piece.subarray(kept))
  }

  /** Returns where the string that is open at `from` ends in this piece, or -1. */
  #endOfString (piece: Buffer, from: number): number {
    let at = this.#midEscape ? from + 1 : from
    this.#midEscape = false
    let end = piece.indexOf(quote, at)
    for (let escape = this.#nextEscape(piece, at); escape !== Infinity; escape = this.#nextEscape(piece, at)) {
      if (end !== -1 && end < escape) return end
      this.#hasEscapes = true
      at = escape + 2
      if (at > piece.length) {
        this.#midEscape = true
        return -1
      }
      if (end !== -1 && end < at) end = piece.indexOf(quote, at)
    }
    return end
  }

  /** Returns the place of the next backslash, else infinity. The last one found is remembered: a piece is searched once, whatever strings it has. */
  #nextEscape (piece: Buffer, from: number): number {
    if (this.#escapeAt < from) {
      const found = piece.indexOf(backslash, from)
      this.#escapeAt = found === -1 ? Infinity : found
    }
    return this.#escapeAt
  }

  #keepOpen (bytes: Buffer): void {
    const isStored = this.#openBytes > this.#longBytes
    this.#openBytes += bytes.length
    if (this.#openBytes <= this.#longBytes) this.#open?.push(bytes)
    else {
      if (!isStored) for (const before of this.#open ?? []) this.#store(before)
      this.#store(bytes)
    }
  }

  #store (bytes: Buffer): void {
    this.#room ??= Buffer.from(new SharedArrayBuffer(this.#roomBytes))
    this.#used += bytes.copy(this.#room, this.#used)
  }

  #close (last: Buffer): void {
    this.#keepOpen(last)
    const short = this.#open ?? []
    this.#open = undefined
    if (this.#openBytes <= this.#longBytes || this.#room === undefined) {
      this.rest.push(...short)
      return
    }
    const stored = this.#room.subarray(this.#used - this.#openBytes, this.#used)
    const bytes = this.#hasEscapes ? withoutEscapes(stored) : stored
    if (bytes === undefined) {
      this.rest.push(stored)
      return
    }
    const placeholder = `(${bytes.length} bytes, ${randomUUID()})`
    this.largeStrings.set(placeholder, new LargeString(bytes))
    this.rest.push(Buffer.from(placeholder))
  }
}

/** Returns the bytes with every `\/` as `/`, in their place; undefined, and unchanged, for other escapes. */
function withoutEscapes (bytes: Buffer): Buffer | undefined {
  for (let at = bytes.indexOf(backslash); at !== -1; at = bytes.indexOf(backslash, at + 2)) {
    if (bytes[at + 1] !== slash) return undefined
  }
  let written = 0
  let read = 0
  for (let at = bytes.indexOf(backslash); at !== -1; at = bytes.indexOf(backslash, read)) {
    bytes.copyWithin(written, read, at)
    written += at - read
    read = at + 1
  }
  bytes.copyWithin(written, read)
  return bytes.subarray(0, written + bytes.length - read)
}
