/**
 * The fast path of a stream.
 *
 * Nearly all chunks of an answer are the same text around one changing string. Once a chunk has
 * been parsed, its text around `delta.content` is remembered; a chunk that begins and ends alike
 * differs in its content only, and needs no parser: about 0.2 µs instead of 1.5.
 */

import { copyString } from '../../text/copy-string.ts'
import { LiteralScanner, notPlain } from '../../json/literal-scanner.ts'
import { objectOf } from '../../json/guards.ts'

/** Messages in a row that differ in their text only. */
export interface TextRun {
  /** The texts as they stand in JSON, without their quotes; each byte is a character. */
  readonly literals: readonly string[]
  readonly isAscii: boolean
  /** The length of the texts, as strings. */
  readonly characters: number
  /** The place behind the last one. */
  readonly end: number
}

const scanner = new LiteralScanner()

export class TextTemplate {
  #prefix: string
  #suffix: string
  /** False where the bytes of both are other characters. */
  readonly #isAscii: boolean
  /** The same with what stands around a message, and from one text to the next, once it is needed. */
  #frame: { readonly before: string, readonly after: string, readonly between: string } | undefined

  private constructor (prefix: string, suffix: string) {
    this.#prefix = prefix
    this.#suffix = suffix
    this.#isAscii = Buffer.byteLength(prefix) === prefix.length && Buffer.byteLength(suffix) === suffix.length
  }

  /**
   * Returns the template of a chunk that differs only in the text of choice 0; `undefined` when its text
   * cannot be found beyond doubt.
   */
  static of (data: string): TextTemplate | undefined {
    const opening = /"content":\s?"/.exec(data)
    if (opening === null) return undefined
    const start = opening.index + opening[0].length
    const { end } = scanner.scan(data, start)
    if (end === -1) return undefined
    const template = new TextTemplate(copyString(data.slice(0, start)), copyString(data.slice(end)))
    return template.#isContentOf('probe') ? template : undefined
  }

  /** Returns the text of a chunk that fits, else `undefined`: then it has to be parsed. */
  deltaText (data: string): string | undefined {
    const start = this.#prefix.length
    const end = data.length - this.#suffix.length
    // Comparing slices takes a tenth of `startsWith`, which goes by character where the texts are
    // slices themselves or of another width.
    if (end <= start || data.slice(0, start) !== this.#prefix || data.slice(end) !== this.#suffix) return undefined
    const literal = data.slice(start, end)
    if (literal.includes('"') && scanner.scan(data, start).end !== end) return undefined
    if (!notPlain.test(literal)) return literal
    try {
      return JSON.parse(`"${literal}"`) as string // a JSON string literal parses to a string
    } catch {
      return undefined // no string of JSON; half an escape at its end makes the quote after it part of the text
    }
  }

  /**
   * Reads messages that fit, from a place in an event stream on, for as long as they follow each other: 0.1 µs each,
   * where the parser of event streams, this template and the printer of the text take 0.6.
   *
   * @param frames bytes as characters
   */
  readRun (frames: string, from: number): TextRun | undefined {
    if (!this.#isAscii) return undefined
    const { before, after, between } = this.#frame ??= this.#framed()
    if (frames.slice(from, from + before.length) !== before) return undefined
    const literals: string[] = []
    let characters = 0
    let isAscii = true
    let end = from
    for (let start = from + before.length; ;) {
      const { end: quote } = scanner.scan(frames, start)
      // The first delta without text may be the end of what fits: it has no event.
      if (quote <= start) break
      const next = quote + between.length
      // Most are followed by another: then one comparison is enough for both halves.
      const isFollowed = frames.slice(quote, next) === between
      if (!isFollowed && frames.slice(quote, quote + after.length) !== after) break
      literals.push(frames.slice(start, quote))
      characters += scanner.characters
      isAscii &&= scanner.isAscii
      end = quote + after.length
      if (!isFollowed) break
      start = next
    }
    return literals.length === 0 ? undefined : { literals, characters, isAscii, end }
  }

  /** A stream may be open for long: what is in both is kept once. */
  #framed (): { readonly before: string, readonly after: string, readonly between: string } {
    const between = copyString(`${this.#suffix}\n\ndata: ${this.#prefix}`)
    const after = between.slice(0, this.#suffix.length + 2)
    const before = between.slice(after.length)
    this.#prefix = before.slice('data: '.length)
    this.#suffix = after.slice(0, -2)
    return { before, after, between }
  }

  /** Returns whether the text between prefix and suffix is the content of the delta, and nothing else. */
  #isContentOf (text: string): boolean {
    const chunk = objectOf(JSON.parse(`${this.#prefix}${text}${this.#suffix}`))
    const choices = chunk?.['choices']
    const choice = Array.isArray(choices) && choices.length === 1 ? objectOf(choices[0]) : undefined
    return objectOf(choice?.['delta'])?.['content'] === text
  }
}
