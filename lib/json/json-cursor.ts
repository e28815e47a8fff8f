/**
 * Walks a large JSON text without parsing it: keys and items one by one, values as the bytes they
 * are. A list of numbers is stepped over by searching its end, at memory speed, so the outline of
 * 65 MB of vectors costs a few dozen milliseconds where `JSON.parse` takes more than a second and
 * several times the memory.
 *
 * ```ts
 * const cursor = new JsonCursor(bytes)
 * for (const key of cursor.keys()) {
 *   if (key === 'usage') usage = cursor.parse()
 *   else cursor.skip()
 * }
 * ```
 *
 * What is stepped over is taken to be JSON; brackets, commas and texts around it are checked. A list
 * with a mistake among its numbers (`[1,,2]`, `1e999`) therefore reaches a caller who requested
 * numbers as the provider wrote it. To look at each byte would make 140 MB cost four to eight times
 * as much: 40 to 100 ms without, 300 by a regular expression, 400 by a table of states; to look
 * for commas in a row alone already takes 150.
 */

import { GatewayError } from '../core/errors.ts'
import { closingQuote } from './string-end.ts'
import { closeList, closeObject, colon, comma, isSpace, openList, openObject, quote } from './characters.ts'

const letterN = 0x6e

/** @throws GatewayError `upstream_invalid_response`, from every method, where the text is not JSON */
export class JsonCursor {
  readonly #bytes: Buffer
  #at: number

  constructor (bytes: Buffer) {
    this.#bytes = bytes
    const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    this.#at = hasMark ? 3 : 0
  }

  /** The keys of the object that stands here. The value of each has to be taken before the next. */
  * keys (): Generator<string, void, undefined> {
    this.#expect(openObject)
    if (this.#accept(closeObject)) return
    do {
      const key = this.parse()
      if (typeof key !== 'string') throw this.#invalid()
      this.#expect(colon)
      yield key
    } while (this.#accept(comma))
    this.#expect(closeObject)
  }

  /** One turn for each item of the list that stands here, which has to be taken before the next. */
  * items (): Generator<number, void, undefined> {
    this.#expect(openList)
    if (this.#accept(closeList)) return
    let index = 0
    do yield index++
    while (this.#accept(comma))
    this.#expect(closeList)
  }

  /** Returns the value that stands here. */
  parse (): unknown {
    try {
      return JSON.parse(this.take().toString())
    } catch (cause) {
      throw cause instanceof GatewayError ? cause : this.#invalid()
    }
  }

  /** True when `null` stands here. */
  get isNull (): boolean {
    return this.#bytes[this.#next()] === letterN
  }

  skip (): void {
    this.take()
  }

  /** Returns the bytes of the value that stands here; a view, not a copy. */
  take (): Buffer {
    const start = this.#next()
    const first = this.#bytes[start]
    if (first === quote) this.#at = this.#endOfText(start)
    else if (first === openList) this.#at = this.#endOfPlainList(start) ?? this.#endOfNested(start)
    else if (first === openObject) this.#at = this.#endOfNested(start)
    else this.#at = this.#endOfWord(start)
    return this.#bytes.subarray(start, this.#at)
  }

  /** @throws when anything but white space is left */
  end (): void {
    if (this.#next() < this.#bytes.length) throw this.#invalid()
  }

  /** Returns the position of the next byte that is not white space. */
  #next (): number {
    while (isSpace(this.#bytes[this.#at])) this.#at++
    return this.#at
  }

  #accept (byte: number): boolean {
    if (this.#bytes[this.#next()] !== byte) return false
    this.#at++
    return true
  }

  #expect (byte: number): void {
    if (!this.#accept(byte)) throw this.#invalid()
  }

  #endOfText (start: number): number {
    const end = closingQuote(this.#bytes, start + 1)
    if (end === -1) throw this.#invalid()
    return end + 1
  }

  /** Returns where a list of numbers ends; `undefined` for a list of anything else. */
  #endOfPlainList (start: number): number | undefined {
    const end = this.#find(closeList, start)
    const inside = this.#bytes.subarray(start + 1, end)
    const isPlain = !inside.includes(quote) && !inside.includes(openList) && !inside.includes(openObject)
    return isPlain ? end + 1 : undefined
  }

  #endOfNested (start: number): number {
    let depth = 0
    for (let at = start; at < this.#bytes.length; at++) {
      switch (this.#bytes[at]) {
        case quote: at = this.#endOfText(at) - 1; break
        case openList: case openObject: depth++; break
        case closeList: case closeObject: depth--; break
      }
      if (depth === 0) return at + 1
    }
    throw this.#invalid()
  }

  #endOfWord (start: number): number {
    let at = start
    while (at < this.#bytes.length && isWord(this.#bytes[at])) at++
    if (at === start) throw this.#invalid()
    return at
  }

  #find (byte: number, from: number): number {
    const found = this.#bytes.indexOf(byte, from)
    if (found === -1) throw this.#invalid()
    return found
  }

  #invalid (): GatewayError {
    return new GatewayError('upstream_invalid_response', { cause: `not JSON at byte ${this.#at}` })
  }
}

/** Numbers, `true`, `false`, `null`. */
function isWord (byte: number | undefined): boolean {
  return !isSpace(byte) && byte !== comma && byte !== closeList && byte !== closeObject && byte !== colon
}
