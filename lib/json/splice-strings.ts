/**
 * Prints a changed value into the text that it was parsed from: only strings that differ, and members that
 * were added, are written anew.
 */

import { closeList, closeObject, colon, comma, isSpace, openList, openObject, quote } from './characters.ts'
import { isContainer } from './guards.ts'
import { endOfString } from './object-text.ts'

/**
 * Returns the text with the differences between two values spliced in; all else stays as it was written.
 *
 * @param text JSON, by a parser that has read it before
 * @param before the text, parsed; members that are null may be missing
 * @param after the same value with other strings, other values in place of strings, and further members: what
 *   did not change is the same object
 */
export function spliceStrings (text: string, before: unknown, after: unknown): string {
  if (before === after) return text
  const splicer = new Splicer(text)
  return splicer.splice(before, after) ?? JSON.stringify(after)
}

class Splicer {
  readonly #text: string
  #at = 0
  #copied = 0
  #result = ''

  constructor (text: string) {
    this.#text = text
  }

  /**
   * @returns `undefined` for a text that has a member twice where something changed: another parser may take
   * the first
   */
  splice (before: unknown, after: unknown): string | undefined {
    return this.#value(before, after) ? this.#result + this.#text.slice(this.#copied) : undefined
  }

  #value (before: unknown, after: unknown): boolean {
    this.#skipSpace()
    if (before === after) {
      this.#skipValue()
      return true
    }
    if (typeof after === 'string' || (typeof before === 'string' && isContainer(after))) {
      this.#result += this.#text.slice(this.#copied, this.#at) + JSON.stringify(after)
      this.#skipValue()
      this.#copied = this.#at
      return true
    }
    if (!isContainer(before) || !isContainer(after)) return false
    return Array.isArray(before) ? this.#items(before, after) : this.#members(before, after)
  }

  #items (before: readonly unknown[], after: object): boolean {
    this.#at++ // the bracket
    for (let index = 0; !this.#isAt(closeList); index++) {
      if (!this.#value(before[index], Reflect.get(after, index))) return false
      this.#accept(comma)
    }
    this.#at++
    return true
  }

  #members (before: object, after: object): boolean {
    this.#at++ // the brace
    const seen = new Set<string>()
    while (!this.#isAt(closeObject)) {
      const start = this.#at
      this.#skipValue()
      const name = JSON.parse(this.#text.slice(start, this.#at)) as string // it is one, in an object
      if (seen.has(name)) return false
      seen.add(name)
      this.#accept(colon)
      if (!this.#value(Reflect.get(before, name), Reflect.get(after, name))) return false
      this.#accept(comma)
    }
    this.#add(before, after, seen)
    this.#at++
    return true
  }

  /**
   * Writes the members that a value has beside those of the text and of the value before, in front of its
   * closing brace.
   */
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

  #skipSpace (): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
  }

  /** @throws SyntaxError at the end of the text, which no parser would have read */
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

  /** Steps over a number, a word, or white space. */
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
