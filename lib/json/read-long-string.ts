import { yieldFairly } from '../async/yield-fairly.ts'
import { backslash } from './characters.ts'

const letterU = 0x75

/**
 * Reads a long JSON string in pieces, one per tick.
 *
 * @param bytes UTF-8; the string, without quotes, is between `from` and `to`
 * @param pieceBytes at least 12
 * @throws SyntaxError for characters that are invalid in a string
 */
export async function readLongString (
  bytes: Buffer,
  from: number,
  to: number,
  pieceBytes: number
): Promise<string> {
  const pieces: string[] = []
  for (let start = from, end = from; start < to; start = end) {
    end = start + pieceBytes < to ? cutBefore(bytes, start, start + pieceBytes) : to
    pieces.push(JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string) // a quoted string
    await yieldFairly()
  }
  return pieces.join('')
}

/** Returns a cut at or shortly before `end` that does not split a character or an escape. */
function cutBefore (bytes: Buffer, start: number, end: number): number {
  let cut = end
  while (isContinuation(bytes[cut])) cut--
  // Searching all preceding bytes would be quadratic if there is none.
  const near = Math.max(start, cut - 5)
  const escape = near + bytes.subarray(near, cut).lastIndexOf(backslash)
  if (escape < near) return cut
  let first = escape
  while (first > start && bytes[first - 1] === backslash) first--
  const isEscaped = (escape - first) % 2 === 1
  return !isEscaped && escape + (bytes[escape + 1] === letterU ? 6 : 2) > cut ? escape : cut
}

function isContinuation (byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
