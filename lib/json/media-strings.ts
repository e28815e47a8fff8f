/**
 * Keeps the media of a large JSON text, its long base64 strings, as the bytes they arrived as.
 *
 * Decoding a string of 48 MB touches 12,000 new memory pages in one tick: 25 ms, and over 100 in some virtual
 * machines. A short placeholder therefore replaces each until the JSON is printed. The placeholder starts
 * like the string, and nothing else of it is examined. Text removed from its start is removed from the string
 * too, and it may be embedded in a longer text.
 */

import { randomBytes } from 'node:crypto'
import { yieldFairly } from '../async/yield-fairly.ts'
import { backslash } from './characters.ts'
import type { RequestMedia } from '../core/call.ts'

/** Leading bytes of a string that the placeholder keeps. */
const headBytes = 4096
/** Bytes examined, or printed, per tick. */
const [lookedAtBytes, printedBytes] = [1024 * 1024, 128 * 1024]
const placeLength = 8
/** Random, so that callers cannot forge a placeholder; only base64 characters. */
const mark = randomBytes(16).toString('hex')
const signLength = mark.length + placeLength

/** Base64, with or without a `data:` prefix. Not `text/…`, because some of those are decoded. */
const mediaHead = /^(?:data:(?!text\/)[ !#-+\--[\]-~]*;base64,)?[\w+/=-]*$/i

/** Returns true for a placeholder. */
export function standsForMedia (text: string): boolean {
  return text.slice(-signLength, -placeLength) === mark
}

/** Returns true for text that starts like media, and for placeholders. */
export function beginsAsMedia (text: string): boolean {
  return mediaHead.test(text.slice(0, headBytes))
}

export class MediaStrings implements RequestMedia {
  readonly #strings: Buffer[] = []

  /**
   * @param bytes of a JSON string, without quotes
   * @returns a placeholder; `undefined` if the string is short, or is not base64 with an optional `data:`
   *   prefix
   */
  async keep (bytes: Buffer): Promise<string | undefined> {
    const headEnd = cutBefore(bytes, headBytes)
    if (headEnd === bytes.length || !mediaHead.test(unescaped(bytes.subarray(0, headEnd)))) return undefined
    const kept = bytes.includes(backslash) ? Buffer.allocUnsafe(bytes.length) : undefined
    let keptBytes = 0
    for (
      let from = 0, to = headEnd;
      from < bytes.length;
      from = to, to = cutBefore(bytes, from + lookedAtBytes)
    ) {
      const text = unescaped(bytes.subarray(from, to))
      if (from > 0 && /[^\w+/=-]/.test(text)) return undefined
      if (kept !== undefined) keptBytes += kept.write(text, keptBytes, 'latin1')
      await yieldFairly()
    }
    const medium = kept?.subarray(0, keptBytes) ?? bytes
    const index = this.#strings.push(medium) - 1
    return `${medium.toString('latin1', 0, headBytes)}${mark}${String(index).padStart(placeLength, '0')}`
  }

  /** Returns the bytes of the string behind a placeholder, without escapes; `undefined` for other text. */
  bytesOf (text: string): Buffer | undefined {
    return standsForMedia(text) ? this.#strings[Number(text.slice(-placeLength))] : undefined
  }

  /**
   * Restores the strings in printed JSON with placeholders, piece by piece, one per tick.
   */
  async * restore (printed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    let rest = Buffer.alloc(0)
    for await (const piece of printed) {
      rest = Buffer.concat([rest, piece])
      for (
        let at = rest.indexOf(mark);
        at !== -1 && at + signLength <= rest.length;
        at = rest.indexOf(mark)
      ) {
        yield rest.subarray(0, at)
        yield * this.#tailOf(Number(rest.toString('latin1', at + mark.length, at + signLength)))
        rest = rest.subarray(at + signLength)
      }
      // The piece may end inside a mark.
      const to = Math.max(0, rest.length - signLength)
      yield rest.subarray(0, to)
      rest = rest.subarray(to)
    }
    yield rest
  }

  async * #tailOf (index: number): AsyncGenerator<Uint8Array, void, undefined> {
    const bytes = this.#strings[index] ?? Buffer.alloc(0)
    for (let at = headBytes; at < bytes.length; at += printedBytes) {
      await yieldFairly()
      yield bytes.subarray(at, at + printedBytes)
    }
  }
}

/** Returns a cut at or before `end` that does not split an escape. */
function cutBefore (bytes: Buffer, end: number): number {
  return end >= bytes.length ? bytes.length : bytes[end - 1] === backslash ? end - 1 : end
}

/** Decodes bytes; some languages print a slash with a backslash. */
function unescaped (bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return bytes.includes(backslash) ? text.replaceAll('\\/', '/') : text
}
