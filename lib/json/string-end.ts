/** Finds the ends of strings in JSON, in texts and in bytes: the only scanner of strings there is. */

import { backslash, quote } from './characters.ts'

/**
 * Returns the index of the quote that ends a string; -1 where there is none.
 *
 * @param start of the string, behind its opening quote
 * @param from where to search: no quote before it ends the string
 */
export function closingQuote (text: string | Buffer, start: number, from = start): number {
  for (let end = nextQuote(text, from); end !== -1; end = nextQuote(text, end + 1)) {
    if (!isEscaped(text, end, start)) return end
  }
  return -1
}

/**
 * Returns true where an odd number of backslashes stand before an index of a string that begins at `start`.
 */
export function isEscaped (text: string | Buffer, at: number, start: number): boolean {
  let first = at
  while (first > start && codeAt(text, first - 1) === backslash) first--
  return (at - first) % 2 === 1
}

function nextQuote (text: string | Buffer, from: number): number {
  return typeof text === 'string' ? text.indexOf('"', from) : text.indexOf(quote, from)
}

function codeAt (text: string | Buffer, at: number): number | undefined {
  return typeof text === 'string' ? text.charCodeAt(at) : text[at]
}
