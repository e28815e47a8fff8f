/**
 * Finds the end of a string in JSON, and checks it on the way. One object for many strings: a result made for each
 * would cost as much as the search.
 */

const quote = 0x22
const backslash = 0x5c
const letterU = 0x75
const firstPrintable = 0x20
const firstBeyondAscii = 0x80
const firstLeadByte = 0xc0
const firstLeadOfFour = 0xf0

/** Matches what stands for another number of characters, or must not be there. */
const special = /[^ -[\]-~]/

/** Matches what is no character of its own in a literal of any width: escapes, and what must not be there. */
export const notPlain = /[^ -[\]-\uffff]/

export class LiteralScanner {
  /** The place of the closing quote; -1 when there is none, or something that no string in JSON has. */
  end = -1
  /** The length of the text it stands for. */
  characters = 0
  isAscii = true

  /**
   * @param bytes UTF-8, each byte a character
   * @param start the place behind the opening quote
   */
  scan (bytes: string, start: number): this {
    this.isAscii = true
    this.end = bytes.indexOf('"', start)
    this.characters = this.end - start
    // Most texts are plain. A loop would be as fast once it is optimized, and ten times slower before.
    if (this.end === -1 || special.test(bytes.slice(start, this.end))) this.#scanSpecial(bytes, start)
    return this
  }

  #scanSpecial (bytes: string, start: number): void {
    this.end = -1
    this.characters = 0
    for (let at = start; at < bytes.length; at++) {
      const code = bytes.charCodeAt(at)
      if (code === quote) {
        this.end = at
        break
      }
      if (code === backslash) {
        const length = escapeLength(bytes, at)
        if (length === 0) break
        at += length - 1
        this.characters++
      } else if (code >= firstBeyondAscii) {
        this.isAscii = false
        // A character beyond the first 65,536 is two in a string.
        if (code >= firstLeadByte) this.characters += code >= firstLeadOfFour ? 2 : 1
      } else if (code < firstPrintable) {
        break
      } else {
        this.characters++
      }
    }
  }
}

/** Returns 0 for what is no escape. */
function escapeLength (text: string, at: number): number {
  const code = text.charCodeAt(at + 1)
  if (code !== letterU) return '"\\/bfnrt'.includes(text.charAt(at + 1)) && at + 1 < text.length ? 2 : 0
  return /^[\da-f]{4}$/i.test(text.slice(at + 2, at + 6)) ? 6 : 0
}

/**
 * Returns the text of a string in JSON.
 *
 * @param literal UTF-8, each byte a character, without the quotes
 */
export function textOfLiteral (literal: string): string {
  return JSON.parse(`"${Buffer.from(literal, 'latin1').toString()}"`) as string // a string literal parses to a string
}
