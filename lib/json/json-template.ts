/**
 * Compares JSON texts of one kind, which have all in common but the ids, the texts, the times and the token counts in them. A text
 * that is alike needs no parser.
 */

import { LiteralScanner } from './literal-scanner.ts'
import { placeholder } from './placeholder.ts'
import { copyString } from '../text/copy-string.ts'

/** A part of a text, without the values in which texts differ. */
export interface JsonPart {
  /** Texts before, between and behind the values. */
  readonly pieces: readonly string[]
  /** The place of its first value among all of them. */
  readonly first: number
}

/** Matches the name of a field whose value differs between texts, up to that value; not within a string, where its quotes would be escaped. */
const names = /"(?:(?:id|text)":\s?"|(?:created_at|completed_at|\w{1,40}_tokens)":\s?(?=\d))/g
/** Longer ones around the values are not remembered. */
const maxLength = 4096
const maxValues = 64
/** Larger numbers may change while they are parsed and printed. */
const maxDigits = 15

const scanner = new LiteralScanner()

export class JsonTemplate {
  readonly #pieces: readonly string[]
  /** The place of each piece in the text that this was made of. */
  readonly #places: readonly number[]

  private constructor (pieces: readonly string[], places: readonly number[]) {
    this.#pieces = pieces
    this.#places = places
  }

  /** @param json a text that a parser has read; `undefined` is returned for one that is too large */
  static of (json: string): JsonTemplate | undefined {
    const pieces: string[] = []
    const places: number[] = []
    let from = 0
    let length = 0
    const add = (to: number): void => {
      pieces.push(copyString(json.slice(from, to)))
      places.push(from)
      length += to - from
    }
    for (const { 0: name, index } of json.matchAll(names)) {
      if (index < from) continue // in a text
      const start = index + name.length
      const end = endOfValue(json, start)
      if (end === -1 || pieces.length === maxValues || length > maxLength) return undefined
      add(start)
      from = end
    }
    add(json.length)
    return length > maxLength ? undefined : new JsonTemplate(pieces, places)
  }

  /** Returns the values of a text as they are written, texts without their quotes; `undefined` for one that is not alike. */
  values (json: string): string[] | undefined {
    const values: string[] = []
    let at = 0
    for (const piece of this.#pieces) {
      if (at > 0) {
        const end = endOfValue(json, at)
        if (end === -1) return undefined
        values.push(json.slice(at, end))
        at = end
      }
      const end = at + piece.length
      if (json.slice(at, end) !== piece) return undefined
      at = end
    }
    return at === json.length ? values : undefined
  }

  /** Returns a part of the text that this was made of. @param start within a piece, as `end` */
  part (start: number, end: number): JsonPart {
    const first = this.#places.findLastIndex(place => place <= start)
    const last = this.#places.findLastIndex(place => place < end)
    const pieces = this.#pieces.slice(first, last + 1)
    pieces.push((pieces.pop() ?? '').slice(0, end - (this.#places[last] ?? 0)))
    pieces[0] = (pieces[0] ?? '').slice(start - (this.#places[first] ?? 0))
    return { pieces, first }
  }

  /**
   * Returns what prints by its values what a function makes of a text of this kind; `undefined` where that does not leave each value as
   * it is and in its order.
   *
   * @param change does the same to all of them, whatever their values; it may return `undefined`
   */
  changed (change: (json: string) => string | undefined): ((values: readonly string[]) => string) | undefined {
    const marks = this.#pieces.slice(1).map((_, index) => this.#isText(index) ? `${placeholder}${index}.` : `9${digits}${100 + index}`)
    const pieces: string[] = []
    let rest = change(printPart({ pieces: this.#pieces, first: 0 }, marks))
    for (const mark of marks) {
      const [before, after, ...more] = rest?.split(mark) ?? []
      if (before === undefined || after === undefined || more.length > 0) return undefined
      pieces.push(before)
      rest = after
    }
    if (rest === undefined) return undefined
    const part = { pieces: [...pieces, rest], first: 0 }
    return values => printPart(part, values)
  }

  #isText (index: number): boolean {
    return this.#pieces[index]?.endsWith('"') === true
  }
}

/** Eleven digits that no caller and no provider can know. */
const digits = String(10 ** 11 + Number.parseInt(placeholder.slice(0, 8), 16)).slice(1)

/** Puts the values of a text into a part. */
export function printPart ({ pieces, first }: JsonPart, values: readonly string[]): string {
  let text = pieces[0] ?? ''
  for (let index = 1; index < pieces.length; index++) text += `${values[first + index - 1] ?? ''}${pieces[index] ?? ''}`
  return text
}

/** Returns the place behind a number, or that of the quote at the end of a text; -1 for anything else. @param start behind its opening quote */
function endOfValue (json: string, start: number): number {
  if (json.charCodeAt(start - 1) === 0x22) return scanner.scan(json, start).end
  let end = start
  for (let code = json.charCodeAt(end); code >= 0x30 && code <= 0x39; code = json.charCodeAt(end)) end++
  const length = end - start
  return length === 0 || length > maxDigits || (length > 1 && json.charCodeAt(start) === 0x30) ? -1 : end
}
