/** Finds the ends of JSON strings, in text and bytes: the only such scanner. */

import { backslash, quote } from './characters.ts'

/**
 * Returns the index of the closing quote, or -1.
 *
 * @param start of the string, after its opening quote
 * @param from where to start searching: no earlier quote ends the string
 */
export function closingQuote (text: string | Buffer, start: number, from = start): number {
  let end = from - 1
  do {
    end = typeof text === 'string' ? text.indexOf('"', end + 1) : text.indexOf(quote, end + 1)
  } while (end !== -1 && isEscaped(text, end, start))
  return end
}

/** Returns true if an odd number of backslashes precedes an index of a string that begins at `start`. */
export function isEscaped (text: string | Buffer, at: number, start: number): boolean {
  let first = at
  while (
    first > start &&
    (typeof text === 'string' ? text.charCodeAt(first - 1) : text[first - 1]) === backslash
  ) first--
  return (at - first) % 2 === 1
}
