/**
 * Applies changes of a value to the text it was parsed from: only changed strings and added members are
 * rewritten.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { closeList, closeObject, colon, comma, isSpace, openList, openObject, quote } from './characters.ts'
import { isContainer } from './type-guards.ts'
import { endOfString } from './object-text.ts'
import { partsOf, printText } from './print-in-slices.ts'

/** Characters read or written per tick. */
const tickLength = 256 * 1024

/**
 * Returns the text with the differences between two values spliced in; the rest stays as written.
 *
 * @param text JSON that was parsed before
 * @param before the parsed text; null members may be missing
 * @param after the same value with other strings, other values in place of strings, and additional members;
 *   unchanged parts are the same objects
 */
export function spliceStrings (text: string, before: unknown, after: unknown): string {
  if (before === after) return text
  const steps = new Splicer(text, false).splice(before, after)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value ?? JSON.stringify(after)
}

/** Does the same in slices, for a large text. The result has no duplicate keys. */
export async function spliceInSlices (text: string, before: unknown, after: unknown): Promise<string> {
  const steps = new Splicer(text, true).splice(before, after)
  let step = steps.next()
  while (step.done !== true) {
    await yieldFairly()
    step = steps.next()
  }
  return step.value ?? await printText(after)
}

type Steps<T> = Generator<undefined, T, undefined>

class Splicer {
  readonly #text: string
  readonly #readsAll: boolean
  #at = 0
  #pauseAt = tickLength
  #copied = 0
  #result = ''

  /** @param readsAll true to search unchanged parts for duplicate members too */
  constructor (text: string, readsAll: boolean) {
    this.#text = text
    this.#readsAll = readsAll
  }

  /**
   * Pauses after each `tickLength` characters.
   *
   * @returns `undefined` for duplicate members: another parser might take the first
   */
  * splice (before: unknown, after: unknown): Steps<string | undefined> {
    const isSpliced = this.#atOnce(before, after) || (yield * this.#inParts(before, after))
    return isSpliced ? this.#result + this.#text.slice(this.#copied) : undefined
  }

  /** Splices a value that is small or unchanged. @returns false for any other */
  #atOnce (before: unknown, after: unknown): boolean {
    this.#skipSpace()
    if (before === after && !(this.#readsAll && isContainer(after))) {
      this.#skipValue()
      return true
    }
    if (typeof after !== 'string' || after.length > tickLength) return false
    this.#result += this.#text.slice(this.#copied, this.#at) + JSON.stringify(after)
    this.#skipValue()
    this.#copied = this.#at
    return true
  }

  * #inParts (before: unknown, after: unknown): Steps<boolean> {
    if (typeof after === 'string' || (typeof before === 'string' && isContainer(after))) {
      this.#result += this.#text.slice(this.#copied, this.#at)
      for (const part of partsOf(after)) {
        this.#result += part
        if (this.#isPause()) yield
      }
      this.#skipValue()
      this.#copied = this.#at
      return true
    }
    if (!isContainer(before) || !isContainer(after)) return false
    const isList = Array.isArray(before)
    if (!this.#isAt(isList ? openList : openObject)) return false // duplicate member
    return yield * (isList ? this.#items(before, after) : this.#members(before, after))
  }

  * #items (before: readonly unknown[], after: object): Steps<boolean> {
    this.#at++ // the bracket
    for (let index = 0; !this.#isAt(closeList); index++) {
      const [one, other] = [before[index], Reflect.get(after, index)]
      if (!this.#atOnce(one, other) && !(yield * this.#inParts(one, other))) return false
      this.#accept(comma)
      if (this.#isPause()) yield
    }
    this.#at++
    return true
  }

  * #members (before: object, after: object): Steps<boolean> {
    this.#at++ // the brace
    const seen = new Set<string>()
    while (!this.#isAt(closeObject)) {
      const start = this.#at
      this.#skipValue()
      const name = JSON.parse(this.#text.slice(start, this.#at)) as string // object keys are strings
      if (seen.has(name)) return false
      seen.add(name)
      this.#accept(colon)
      const [one, other] = [Reflect.get(before, name), Reflect.get(after, name)]
      if (!this.#atOnce(one, other) && !(yield * this.#inParts(one, other))) return false
      this.#accept(comma)
      if (this.#isPause()) yield
    }
    this.#add(before, after, seen)
    this.#at++
    return true
  }

  /** Appends members that are neither in the text nor in the previous value, before the closing brace. */
  #add (before: object, after: object, seen: ReadonlySet<string>): void {
    let separator = seen.size === 0 ? '' : ','
    for (const [name, value] of Object.entries(after)) {
      if (seen.has(name) || Object.hasOwn(before, name) || value === undefined) continue
      this.#result += this.#text.slice(this.#copied, this.#at) +
        `${separator}${JSON.stringify(name)}:${JSON.stringify(value)}`
      this.#copied = this.#at
      separator = ','
    }
  }

  #isPause (): boolean {
    const done = this.#at + this.#result.length
    if (done < this.#pauseAt) return false
    this.#pauseAt = done + tickLength
    return true
  }

  #skipSpace (): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
  }

  /** @throws SyntaxError at the end of the text, which is unreachable for parsed JSON */
  #isAt (character: number): boolean {
    this.#skipSpace()
    if (this.#at >= this.#text.length) throw new SyntaxError('not the text that was parsed')
    return this.#text.charCodeAt(this.#at) === character
  }

  #accept (character: number): void {
    if (this.#isAt(character)) this.#at++
  }

  #skipValue (): void {
    for (let depth = 0; this.#at < this.#text.length;) {
      switch (this.#text.charCodeAt(this.#at)) {
        case quote:
          this.#at = endOfString(this.#text, this.#at)
          break
        case openObject: case openList:
          depth++
          this.#at++
          break
        case closeObject: case closeList:
          depth--
          this.#at++
          break
        case comma: case colon:
          this.#at++
          break
        default:
          this.#skipWord()
      }
      if (depth === 0) return
    }
  }

  /** Skips a number, a keyword, or white space. */
  #skipWord (): void {
    this.#at++
    while (this.#at < this.#text.length && !isPunctuation(this.#text.charCodeAt(this.#at))) this.#at++
  }
}

function isPunctuation (code: number): boolean {
  return (
    code === comma ||
    code === colon ||
    code === closeList ||
    code === closeObject ||
    code === openList ||
    code === openObject ||
    code === quote
  )
}
