/**
 * The media of a large JSON text: its long strings in base64, kept as the bytes they came as.
 *
 * A string of 48 MB is 12,000 pages of memory that are used for the first time in one turn of the event loop:
 * 25 ms, and over 100 where a virtual machine gets them from its host. So a short string stands for each
 * until JSON is printed of it. It begins as the long one does, which is all that is looked at; what is cut
 * off its beginning is gone from the long one as well, and it may be put into a longer text.
 */

import { randomBytes } from 'node:crypto'
import { yieldFairly } from '../async/yield-fairly.ts'
import { backslash } from './characters.ts'
import type { RequestMedia } from '../core/caller-body.ts'

/** Bytes of a string that stay a string. */
const headBytes = 4096
/** Bytes that are looked at, or printed, in one turn of the event loop. */
const [lookedAtBytes, printedBytes] = [1024 * 1024, 128 * 1024]
const placeLength = 8
/** Random, so that nobody outside can forge a placeholder. Only characters of base64. */
const mark = randomBytes(16).toString('hex')
const signLength = mark.length + placeLength

/** Base64, with or without a `data:` prefix. Not `text/…`: some of those are decoded. */
const mediaHead = /^(?:data:(?!text\/)[ !#-+\--[\]-~]*;base64,)?[\w+/=-]*$/i

/** Returns true for a string that stands for a longer one. */
export function standsForMedia (text: string): boolean {
  return text.slice(-signLength, -placeLength) === mark
}

/** Returns true for a text that begins as media do, or stands for such. */
export function beginsAsMedia (text: string): boolean {
  return mediaHead.test(text.slice(0, headBytes))
}

export class MediaStrings implements RequestMedia {
  readonly #strings: Buffer[] = []

  /**
   * @param bytes what stands between two quotes of a JSON text
   * @returns what stands for it; `undefined` for a string that is short, or is not base64 with `data:` or
   *   nothing before it
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

  /**
   * Returns all bytes of the string that a text stands for, without escapes; `undefined` for one that stands
   * for itself.
   */
  bytesOf (text: string): Buffer | undefined {
    return standsForMedia(text) ? this.#strings[Number(text.slice(-placeLength))] : undefined
  }

  /**
   * Puts the strings back into JSON that was printed with what stands for them, a piece in each turn of the
   * event loop.
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
      // The beginning of a mark may be at its end.
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

/** Returns where a piece ends that is to end at `end`: not between a backslash and what it stands before. */
function cutBefore (bytes: Buffer, end: number): number {
  return end >= bytes.length ? bytes.length : bytes[end - 1] === backslash ? end - 1 : end
}

/** Returns the text of bytes; a slash may have a backslash before it, as some languages print it. */
function unescaped (bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return bytes.includes(backslash) ? text.replaceAll('\\/', '/') : text
}
