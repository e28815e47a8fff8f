/** Guesses what a body is where servers answer otherwise than requested. */

export const openingBrace = 0x7b
const openingBracket = 0x5b
const colon = 0x3a

/** Returns true for a body that begins like an event stream. */
export function looksLikeStream (bytes: Buffer): boolean {
  return /^\ufeff?\s*(?:data|event|id|retry)?:/.test(bytes.toString('utf8', 0, 200))
}

/**
 * Returns the JSON after comments of an event stream, with which servers keep a connection alive while they
 * work on a complete answer; any other text unchanged.
 */
export function withoutComments (bytes: Buffer): Buffer {
  let at = blanksAt(bytes, 0)
  if (bytes[at] !== colon) return bytes
  while (bytes[at] === colon) {
    const end = bytes.indexOf('\n', at)
    at = end === -1 ? bytes.length : blanksAt(bytes, end)
  }
  const isJson = bytes[at] === openingBrace || bytes[at] === openingBracket
  return isJson ? bytes.subarray(at) : bytes
}

/** Returns the index after spaces, tabs and line ends. */
function blanksAt (bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d) at++
  return at
}
