/**
 * Parses a large JSON text in slices, one per tick.
 *
 * `JSON.parse` takes 1 ms for a megabyte of one string and 40 ms for a megabyte of small objects, blocking
 * other calls. Here it parses runs of complete members of a list or an object, and long strings in pieces;
 * larger lists and objects are assembled from runs. Each byte is scanned once and parsed once, so the time is
 * linear, about a third more than `JSON.parse` alone.
 *
 * Parsed in one piece, the largest bodies would exceed the 50 ms allowed per tick (`bench/history.md`).
 * Accepts the same texts as `JSON.parse`, except keys of more than 1 MB.
 */

import { isUtf8 } from 'node:buffer'
import { yieldFairly } from '../async/yield-fairly.ts'
import { readLongString } from './read-long-string.ts'
import { closingQuote } from './string-end.ts'
import type { MediaStrings } from './media-strings.ts'
import { closeList, closeObject, colon, comma, isSpace, openList, openObject, quote } from './characters.ts'

export interface TurnSizes {
  /** Bytes parsed at a time: 43,000 empty objects take 4 ms. */
  readonly runBytes: number
  /** Piece size of longer strings; also the bytes scanned per tick if there is nothing to parse. */
  readonly pieceBytes: number
}

export interface ParseOptions extends Partial<TurnSizes> {
  /** Takes long strings with media and returns placeholders. */
  readonly media?: MediaStrings | undefined
  /** Maximum bytes of any other string. Default: unlimited. */
  readonly maxStringBytes?: number
}

const defaultSizes: TurnSizes = { runBytes: 128 * 1024, pieceBytes: 1024 * 1024 }

export class NotUtf8Error extends SyntaxError {}

/** Lists and objects are nested deeper than allowed. */
export class NestedTooDeepError extends SyntaxError {}

/** A string is longer than allowed. */
export class StringTooLongError extends SyntaxError {}

/**
 * @param maxDepth of lists and objects
 * @throws NotUtf8Error, NestedTooDeepError, StringTooLongError, or another SyntaxError for invalid JSON
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

/** A list or object that is assembled from runs. */
interface OpenContainer {
  readonly value: unknown[] | Record<string, unknown>
  /** True between a member and the next comma or bracket. */
  afterMember: boolean
  /** True after a comma: another member must follow. */
  afterComma: boolean
}

class RunParser {
  readonly #bytes: Buffer
  readonly #maxDepth: number
  readonly #sizes: TurnSizes
  readonly #media: MediaStrings | undefined
  readonly #maxStringBytes: number
  /** Contains the text's only value, as if the text were in brackets. */
  readonly #root: unknown[] = []
  #current: OpenContainer = opened(this.#root)
  readonly #outer: OpenContainer[] = []
  #at = 0
  /** The open string does not end before this position. */
  #searchedTo = 0
  /** The first unparsed byte; in the current container. */
  #runStart = 0
  /** Starts of the open members: in the current container, and in each bracket of the run. */
  #memberStarts: number[] = [0]
  /** Open brackets in the run. */
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

  /** Does the work of one tick. @returns true at the end of the text */
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

  /** Processes a comma. @returns true if a run was parsed */
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

  /** Parses the complete members of the run, and creates containers for its open brackets. */
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

  /** Adds a separately parsed value to the current container; its key, if any, precedes it in the run. */
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

  #close (): void {
    const { value } = this.#current
    const outer = this.#outer.pop()
    if (outer === undefined || Array.isArray(value) !== (this.#bytes[this.#at] === closeList)) {
      throw new SyntaxError('unexpected closing bracket')
    }
    this.#appendLast()
    this.#current = outer
    this.#runStart = this.#memberStarts[0] = this.#at + 1
  }

  /** Parses from the last comma to the end of the current container. */
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

  /** Returns the position of the closing quote; `undefined` if the search continues in the next tick. */
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

/** 1 for each structural byte. */
const marks = Uint8Array.from({ length: 256 }, (_, byte) =>
  [quote, comma, openList, closeList, openObject, closeObject].includes(byte) ? 1 : 0
)

/** Returns the position of the next structural byte, or `end`. Numbers contain almost none. */
function nextMark (bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && marks[bytes[at] ?? 0] === 0) at++
  return at
}

function opened (value: OpenContainer['value']): OpenContainer {
  return { value, afterMember: false, afterComma: false }
}

/** Sets a member like the parser, including `__proto__`. */
function setOwn (target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true })
  else target[key] = value
}
