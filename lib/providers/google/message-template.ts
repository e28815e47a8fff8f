/**
 * The fast path of a stream.
 *
 * Messages of one answer differ in their text and in the counts of tokens behind it. What stands around these is remembered
 * of a message that was parsed; the text of one that is the same around them is cut out of it: 0.4 µs instead of 1.2.
 */

import { objectOf } from '../../json/guards.ts'
import { notPlain } from '../../json/literal-scanner.ts'
import { copyString } from '../../text/copy-string.ts'

/** Matches a number that is a value. */
const numbers = /(?<=:\s?)\d{1,15}(?=[,}\s])/
/** Longer ones are few, and not kept. */
const maxAroundLength = 4096

export class MessageTemplate {
  readonly #before: string
  /** The pieces behind the text: between them stand numbers, which may be others. */
  readonly #after: readonly string[]

  private constructor (before: string, after: readonly string[]) {
    this.#before = before
    this.#after = after
  }

  /** Returns the template of a message that was read as one piece of text; `undefined` when that cannot be found beyond doubt. */
  static of (data: string): MessageTemplate | undefined {
    const opening = /"text":\s?"/.exec(data)
    if (opening === null) return undefined
    const start = opening.index + opening[0].length
    const end = closingQuote(data, start)
    if (end === -1 || data.length - end + start > maxAroundLength) return undefined
    const usage = data.indexOf('"usageMetadata"', end)
    const counts = usage === -1 ? data.length : usage
    const [first = '', ...others] = data.slice(counts).split(numbers)
    const template = new MessageTemplate(copyString(data.slice(0, start)), [data.slice(end, counts) + first, ...others].map(copyString))
    return template.#hasOnlyText() ? template : undefined
  }

  /** Returns the text of a message that fits, else `undefined`: then it has to be parsed. */
  deltaText (data: string): string | undefined {
    const start = this.#before.length
    if (data.slice(0, start) !== this.#before) return undefined
    const end = closingQuote(data, start)
    if (end <= start || !this.#endsAlike(data, end)) return undefined
    const literal = data.slice(start, end)
    if (!notPlain.test(literal)) return literal
    try {
      return JSON.parse(`"${literal}"`) as string // a string literal parses to a string
    } catch {
      return undefined // what stands there cannot be read
    }
  }

  #endsAlike (data: string, from: number): boolean {
    let at = from
    for (const [index, piece] of this.#after.entries()) {
      if (index > 0) at = endOfNumber(data, at)
      if (data.slice(at, at + piece.length) !== piece) return false
      at += piece.length
    }
    return at === data.length
  }

  /** Returns whether the text is that of the one part, and no number that may be another is in a candidate. */
  #hasOnlyText (): boolean {
    const [one, other] = ['1', '2'].map(number => objectOf(JSON.parse(`${this.#before}probe${this.#after.join(number)}`))?.['candidates'])
    return only(objectOf(only(one)?.['content'])?.['parts'])?.['text'] === 'probe' && JSON.stringify(one) === JSON.stringify(other)
  }
}

/** Returns the object of a list that has no more. */
function only (list: unknown): Record<string, unknown> | undefined {
  return Array.isArray(list) && list.length === 1 ? objectOf(list[0]) : undefined
}

/** Returns where the string that starts at `start` ends; -1 where it does not. */
function closingQuote (data: string, start: number): number {
  let end = data.indexOf('"', start)
  while (end !== -1 && isEscaped(data, start, end)) end = data.indexOf('"', end + 1)
  return end
}

function isEscaped (data: string, start: number, at: number): boolean {
  let backslash = at - 1
  while (backslash >= start && data[backslash] === '\\') backslash--
  return (at - backslash) % 2 === 0
}

/** Returns the place behind an integer; of one that JSON does not have, somewhere in it. */
function endOfNumber (data: string, start: number): number {
  let at = start
  while (isDigit(data, at) && (at === start || data[start] !== '0')) at++
  return at === start ? data.length : at
}

function isDigit (data: string, at: number): boolean {
  const code = data.charCodeAt(at)
  return code >= 0x30 && code <= 0x39
}
