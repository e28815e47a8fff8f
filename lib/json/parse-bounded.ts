/** Parses untrusted JSON within limits of depth and number of values, which are checked before parsing. */

import { isContainer } from './type-guards.ts'
import { closeList, closeObject, colon, comma, openList, openObject, quote } from './characters.ts'
import { closingQuote, isEscaped } from './string-end.ts'

/** Deeper than any legitimate response of a provider or tool server. */
export const maxDepth = 256
/** Shorter texts, such as chunks, cannot be nested that deep. */
const plainLength = 2 * maxDepth
/** Such a text parses in a few milliseconds, whatever it contains. */
const uncountedLength = 64 * 1024
/** Parses in 40 ms: half a million numbers, or 60,000 strings, keys and objects. */
const maxTextCost = 500_000

/**
 * Parses untrusted JSON, also if nested in a string of other JSON. Very deep nesting is rejected, because
 * recursive code such as `JSON.stringify` would overflow the stack later.
 *
 * @throws SyntaxError for invalid JSON, more than 256 levels, or a cost above half a million, where a number
 *   costs 1, and a key, string, object or list costs 8
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
  // Count part by part, to stop early.
  for (let at = 0; at < text.length; at += uncountedLength) {
    counter.push(Buffer.from(text.slice(at, at + uncountedLength)))
    checkParseCost(counter)
  }
}

/** @throws SyntaxError for text with too many values for `parseBounded` */
export function checkParseCost ({ parseCost }: ValueCounter): void {
  if (parseCost > maxTextCost) throw new SyntaxError('too many values')
}

/** Levels walked by recursion, which allocates no lists; most bodies have fewer. */
const maxRecursion = 64

/**
 * Returns true if objects and lists are nested deeper than `levels`. Deep levels are walked iteratively, so
 * that hostile text does not control the stack depth.
 *
 * @param recursion levels that may still be walked recursively
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
      // `for in` over an array creates a string per index: 50 MB of numbers took 25 s. Skip strings:
      // `Object.values` would split them into characters, and 20 MB took ten seconds.
      for (const child of Array.isArray(container) ? container : Object.values(container)) {
        if (isContainer(child)) next.push(child)
      }
    }
    level = next
  }
  return false
}

/**
 * A key, string, object or list takes about as long to parse as this many numbers: 500,000 numbers take 10 to
 * 50 ms, 500,000 distinct keys 250.
 */
const structureWeight = 8

/** Memory of a parsed value or key; distinct keys of large objects take most. */
export const valueBytes = 128

/** Returns the cost of parsing a text of this size if it has as many values as fit. */
export function worstParseCost (sizeBytes: number): number {
  return 1 + structureWeight * sizeBytes
}

/**
 * Counts the values of a JSON text while it arrives, without parsing it.
 *
 * Counts every comma, colon and opening bracket outside strings, so `count` is never below the number of
 * values and keys. Strings are skipped with `indexOf`, which scans many bytes at a time.
 */
export class ValueCounter {
  /** Values and keys so far, plus one for the text itself. */
  count = 1
  /** Maximum nesting depth so far. */
  deepest = 0
  #depth = 0
  /** Keys, strings, objects and lists so far. */
  #structures = 0
  /** Bytes in strings of at least `longBytes`. */
  largeStringBytes = 0
  readonly #longBytes: number
  /** Bytes of the open string so far, without quotes; -1 outside strings. */
  #openBytes = -1
  /** True if the last piece ended inside an escape. */
  #isEscaped = false

  /** @param longBytes minimum size of a long string */
  constructor (longBytes: number) {
    this.#longBytes = longBytes
  }

  /** Time to parse the text, in numbers; a key, string, object or list costs eight. */
  get parseCost (): number {
    return this.count + (structureWeight - 1) * this.#structures
  }

  /** True if the last piece ended inside a string. */
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

  /** Returns the position after the string that is open at `from`. */
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
