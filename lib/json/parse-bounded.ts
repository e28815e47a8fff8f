/** Parses JSON that others wrote, within bounds of depth and of values, which are counted before. */

import { isContainer } from './guards.ts'
import { closeList, closeObject, colon, comma, openList, openObject, quote } from './characters.ts'
import { closingQuote, isEscaped } from './string-end.ts'

/** Nesting that no response of a provider or a tool server has for a reason. */
export const maxDepth = 256
/** A text nested deeper than that is longer than this: shorter ones, as chunks are, need no look. */
const plainLength = 2 * maxDepth
/** Such a text takes no more than a few milliseconds, whatever it holds. */
const uncountedLength = 64 * 1024
/** Parsed in 40 ms: half a million numbers, or 60,000 texts, keys and objects. */
const maxTextCost = 500_000

/**
 * Parses JSON that others wrote, on its own or in a string of other JSON. What is nested thousands of levels
 * deep is refused here, because whatever walks it later, as `JSON.stringify` does, would run out of stack.
 *
 * @throws SyntaxError for what is not JSON, nested deeper than 256 levels, or more than half a million
 *   values, of which keys, strings, objects and lists count as eight
 */
export function parseBounded (text: string): unknown {
  if (text.length > uncountedLength) checkCostOf(text)
  const value: unknown = JSON.parse(text)
  if (text.length > plainLength && isDeeperThan(value, maxDepth)) {
    throw new SyntaxError(`nested deeper than ${maxDepth} levels`)
  }
  return value
}

function checkCostOf (text: string): void {
  const counter = new ValueCounter(Infinity)
  // Part by part: the count may end it soon.
  for (let at = 0; at < text.length; at += uncountedLength) {
    counter.push(Buffer.from(text.slice(at, at + uncountedLength)))
    checkParseCost(counter)
  }
}

/** @throws SyntaxError for a text that `parseBounded` refuses for its values */
export function checkParseCost ({ parseCost }: ValueCounter): void {
  if (parseCost > maxTextCost) throw new SyntaxError('too many values')
}

/** Levels that are walked by recursion, which makes no lists; most bodies have fewer. */
const maxRecursion = 64

/**
 * Returns true when objects and lists are nested in more than so many levels. Beyond some levels it walks
 * without recursion: a hostile text must not choose the depth of our stack.
 *
 * @param recursion levels that may still be walked by recursion
 */
export function isDeeperThan (value: unknown, levels: number, recursion = maxRecursion): boolean {
  if (!isContainer(value)) return false
  if (levels === 0) return true
  if (recursion === 0) return isDeeperByLevel(value, levels)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      if (isDeeperThan(value[index], levels - 1, recursion - 1)) return true
    }
    return false
  }
  for (const name in value) {
    if (isDeeperThan(Reflect.get(value, name), levels - 1, recursion - 1)) return true
  }
  return false
}

function isDeeperByLevel (value: object, levels: number): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levels) return true
    const next: object[] = []
    for (const container of level) {
      // `for in` over an array makes a string of every index: 50 MB of numbers took 25 s. Strings are no
      // containers: `Object.values` makes one value of each character, and 20 MB took ten seconds.
      for (const child of Array.isArray(container) ? container : Object.values(container)) {
        if (isContainer(child)) next.push(child)
      }
    }
    level = next
  }
  return false
}

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

/**
 * Counts the values of a JSON text while it arrives, without parsing it.
 *
 * Every comma, colon and opening bracket outside a string stands for a value or a key, so `count` is
 * never less than what a parser would make. Strings are skipped by `indexOf`, which looks at many
 * bytes at a time.
 */
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
