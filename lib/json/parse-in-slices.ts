/**
 * Parses a large JSON text in parts, one in a turn of the event loop.
 *
 * `JSON.parse` needs a millisecond for a megabyte of one string and forty for a megabyte of small objects,
 * and others wait meanwhile. Here it gets runs of complete members of a list or an object, and long strings
 * in pieces; lists and objects that are larger than a run are put together from them. Each byte is looked at
 * once and parsed once, so the time is linear, about a third more than that of `JSON.parse` alone.
 *
 * Parsed at once, the largest bodies take more than the 50 ms that a turn may (`bench/history.md`).
 * It accepts what `JSON.parse` accepts, but for keys of more than a megabyte.
 */

import { isUtf8 } from 'node:buffer'
import { yieldFairly } from '../async/yield-fairly.ts'
import { readLongString } from './read-long-string.ts'
import { closingQuote } from './string-end.ts'
import type { MediaStrings } from './media-strings.ts'
import { closeList, closeObject, colon, comma, isSpace, openList, openObject, quote } from './characters.ts'

export interface TurnSizes {
  /** Bytes that are parsed at once: 43,000 empty objects take 4 ms. */
  readonly runBytes: number
  /**
   * Longer strings are read in pieces of so many bytes; so much is looked at in a turn where there is nothing
   * to parse.
   */
  readonly pieceBytes: number
}

export interface ParseOptions extends Partial<TurnSizes> {
  /** Takes the long strings that are media; short ones stand for them. */
  readonly media?: MediaStrings | undefined
  /** Bytes of any other string. Default: no bound. */
  readonly maxStringBytes?: number
}

const defaultSizes: TurnSizes = { runBytes: 128 * 1024, pieceBytes: 1024 * 1024 }

/** A text that is not UTF-8. */
export class NotUtf8Error extends SyntaxError {}

/** A text whose lists and objects are nested deeper than allowed. */
export class NestedTooDeepError extends SyntaxError {}

/** A text with a string that is longer than allowed. */
export class StringTooLongError extends SyntaxError {}

/**
 * @param maxDepth levels of lists and objects
 * @throws NotUtf8Error, NestedTooDeepError, StringTooLongError, or another SyntaxError for what is not JSON
 */
export async function parseInSlices (
  bytes: Buffer,
  maxDepth: number,
  options: ParseOptions = {}
): Promise<unknown> {
  if (!isUtf8(bytes)) throw new NotUtf8Error('not UTF-8')
  await yieldFairly()
  const parser = new RunParser(bytes, maxDepth, options)
  while (!await parser.advance()) await yieldFairly()
  return parser.value
}

/** A list or an object that is put together from runs. */
interface OpenContainer {
  readonly value: unknown[] | Record<string, unknown>
  /** True between a member and the comma or bracket behind it. */
  afterMember: boolean
  /** True behind a comma: another member must follow. */
  afterComma: boolean
}

class RunParser {
  readonly #bytes: Buffer
  readonly #maxDepth: number
  readonly #sizes: TurnSizes
  readonly #media: MediaStrings | undefined
  readonly #maxStringBytes: number
  /** Holds the text's one value, as if the text stood in brackets. */
  readonly #root: unknown[] = []
  #current: OpenContainer = opened(this.#root)
  readonly #outer: OpenContainer[] = []
  #at = 0
  /** In the string that is open, no end was found before this. */
  #searchedTo = 0
  /** The first byte that has not been parsed; in the current container. */
  #runStart = 0
  /** Starts of the open member: in the current container, and in each bracket of the run. */
  #memberStarts: number[] = [0]
  /** The brackets that are open in the run. */
  #brackets: number[] = []

  constructor (
    bytes: Buffer,
    maxDepth: number,
    { media, maxStringBytes = Infinity, ...sizes }: ParseOptions
  ) {
    this.#bytes = bytes
    this.#maxDepth = maxDepth
    this.#sizes = { ...defaultSizes, ...sizes }
    this.#media = media
    this.#maxStringBytes = maxStringBytes
  }

  get value (): unknown {
    return this.#root[0]
  }

  /** Does the work of one turn. @returns true at the end of the text */
  async advance (): Promise<boolean> {
    const bytes = this.#bytes
    const pauseAt = this.#at + this.#sizes.pieceBytes
    for (;;) {
      this.#at = nextMark(bytes, this.#at, Math.min(pauseAt, bytes.length))
      if (this.#at >= pauseAt) return false
      if (this.#at >= bytes.length) break
      switch (bytes[this.#at]) {
        case quote: {
          const end = this.#endOfString(this.#at + 1)
          if (end === undefined) return false
          if (end - this.#at > this.#sizes.pieceBytes) {
            await this.#takeLongString(this.#at + 1, end)
            return false
          }
          this.#at = end + 1
          break
        }
        case comma:
          this.#at++
          if (this.#separate()) return false
          break
        case openList:
        case openObject:
          if (this.#outer.length + this.#brackets.length >= this.#maxDepth) {
            throw new NestedTooDeepError(`nested deeper than ${this.#maxDepth} levels`)
          }
          this.#brackets.push(this.#at)
          this.#at++
          this.#memberStarts.push(this.#at)
          break
        case closeList:
        case closeObject:
          if (this.#brackets.pop() === undefined) this.#close()
          else this.#memberStarts.pop()
          this.#at++
      }
    }
    this.#end()
    return true
  }

  /** Notes a comma. @returns true when a run was parsed */
  #separate (): boolean {
    const current = this.#current
    if (this.#brackets.length === 0 && current.afterMember) {
      this.#expectBlank(this.#runStart, this.#at - 1)
      current.afterMember = false
      current.afterComma = true
      this.#runStart = this.#at
    }
    this.#memberStarts[this.#memberStarts.length - 1] = this.#at
    if (this.#at - this.#runStart < this.#sizes.runBytes) return false
    this.#openBrackets()
    return true
  }

  /** Parses the complete members of the run, and makes containers of the brackets that are open in it. */
  #openBrackets (): void {
    for (;;) {
      const memberStart = this.#memberStarts[0] ?? 0
      if (memberStart > this.#runStart) {
        this.#append(this.#runStart, memberStart - 1)
        this.#current.afterComma = true
        this.#runStart = memberStart
      }
      const bracket = this.#brackets.shift()
      if (bracket === undefined) return
      const value = this.#bytes[bracket] === openList ? [] : {}
      this.#add(bracket, value)
      this.#outer.push(this.#current)
      this.#current = opened(value)
      this.#runStart = bracket + 1
      this.#memberStarts.shift()
    }
  }

  async #takeLongString (from: number, to: number): Promise<void> {
    let next = to + 1
    while (isSpace(this.#bytes[next])) next++
    if (this.#bytes[next] === colon) throw new SyntaxError('a key of more than a megabyte')
    this.#openBrackets()
    this.#add(
      from - 1,
      (await this.#media?.keep(this.#bytes.subarray(from, to))) ?? (await this.#readLongString(from, to))
    )
    this.#at = this.#runStart = this.#memberStarts[0] = to + 1
  }

  async #readLongString (from: number, to: number): Promise<string> {
    if (to - from > this.#maxStringBytes) {
      throw new StringTooLongError(`a string of more than ${this.#maxStringBytes} bytes`)
    }
    return await readLongString(this.#bytes, from, to, this.#sizes.pieceBytes)
  }

  /**
   * Adds a value of its own to the current container: what stands before it in the run is its key, or
   * nothing.
   */
  #add (start: number, value: unknown): void {
    const current = this.#current
    if (current.afterMember) throw new SyntaxError('a comma is missing')
    if (Array.isArray(current.value)) {
      this.#expectBlank(this.#runStart, start)
      current.value.push(value)
    } else {
      const [key, ...more] = Object.keys(JSON.parse(`{${this.#text(this.#runStart, start)}null}`))
      if (key === undefined || more.length > 0) throw new SyntaxError('a key is missing')
      setOwn(current.value, key, value)
    }
    current.afterMember = true
    current.afterComma = false
  }

  /** Parses complete members. */
  #append (from: number, to: number): void {
    const { value } = this.#current
    const text = this.#text(from, to)
    let count = 0
    if (Array.isArray(value)) {
      for (const member of JSON.parse(`[${text}]`)) count = value.push(member)
    } else {
      const members = JSON.parse(`{${text}}`)
      for (const key of Object.keys(members)) {
        setOwn(value, key, members[key])
        count++
      }
    }
    if (count === 0) throw new SyntaxError('a member is missing')
    this.#current.afterComma = false
  }

  /** Ends the current container. */
  #close (): void {
    const { value } = this.#current
    const outer = this.#outer.pop()
    if (outer === undefined || Array.isArray(value) !== (this.#bytes[this.#at] === closeList)) {
      throw new SyntaxError('a bracket too many')
    }
    this.#appendLast()
    this.#current = outer
    this.#runStart = this.#memberStarts[0] = this.#at + 1
  }

  /** Parses what stands between the last comma and the end of the current container. */
  #appendLast (): void {
    const { afterMember, afterComma } = this.#current
    if (afterMember || (!afterComma && this.#isBlank(this.#runStart, this.#at)))
      this.#expectBlank(this.#runStart, this.#at)
    else this.#append(this.#runStart, this.#at)
  }

  #end (): void {
    if (this.#brackets.length > 0 || this.#outer.length > 0) throw new SyntaxError('a bracket is missing')
    this.#appendLast()
    if (this.#root.length !== 1) throw new SyntaxError('more than one value, or none')
  }

  /**
   * Returns the place of the quote that ends a string; `undefined` when the search goes on in the next turn.
   */
  #endOfString (start: number): number | undefined {
    const from = Math.max(start, this.#searchedTo)
    const searched = this.#bytes.subarray(0, from + this.#sizes.pieceBytes)
    const end = closingQuote(searched, start, from)
    if (end !== -1) return end
    if (searched.length === this.#bytes.length) throw new SyntaxError('a quote is missing')
    this.#searchedTo = searched.length
    return undefined
  }

  #text (from: number, to: number): string {
    return this.#bytes.toString('utf8', from, to)
  }

  #isBlank (from: number, to: number): boolean {
    let at = from
    while (at < to && isSpace(this.#bytes[at])) at++
    return at === to
  }

  #expectBlank (from: number, to: number): void {
    if (!this.#isBlank(from, to)) throw new SyntaxError('a comma is missing')
  }
}

/** Has a 1 for each byte that says how a text is built. */
const marks = Uint8Array.from({ length: 256 }, (_, byte) =>
  [quote, comma, openList, closeList, openObject, closeObject].includes(byte) ? 1 : 0
)

/** Returns the place of the next mark, or `end`. Most bytes of numbers are none. */
function nextMark (bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && marks[bytes[at] ?? 0] === 0) at++
  return at
}

function opened (value: OpenContainer['value']): OpenContainer {
  return { value, afterMember: false, afterComma: false }
}

/** Sets a member as the parser does, also `__proto__`. */
function setOwn (target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true })
  else target[key] = value
}
