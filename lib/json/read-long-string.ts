import { yieldFairly } from '../async/yield-fairly.ts'
import { backslash } from './characters.ts'

const letterU = 0x75

/**
 * Reads a long string of a JSON text in pieces, one in a turn of the event loop.
 *
 * @param bytes UTF-8; the string begins at `from` and ends before `to`, without its quotes
 * @param pieceBytes at least 12
 * @throws SyntaxError for what may not stand in a string
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
    pieces.push(JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string) // it is in quotes
    await yieldFairly()
  }
  return pieces.join('')
}

/** Returns where a piece ends, at `end` or shortly before it: not within a character or an escape. */
function cutBefore (bytes: Buffer, start: number, end: number): number {
  let cut = end
  while (isContinuation(bytes[cut])) cut--
  // Not in all that lies before: that would be quadratic where there is none.
  const near = Math.max(start, cut - 5)
  const escape = near + bytes.subarray(near, cut).lastIndexOf(backslash)
  if (escape < near) return cut
  let first = escape
  while (first > start && bytes[first - 1] === backslash) first--
  const isEscaped = (escape - first) % 2 === 1
  return !isEscaped && escape + (bytes[escape + 1] === letterU ? 6 : 2) > cut ? escape : cut
}

/** Returns true for a byte that is one of a character of several, and not its first. */
function isContinuation (byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
