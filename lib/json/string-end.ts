/** Finds the ends of JSON strings, in text and bytes: the only such scanner. */

import { backslash, quote } from './characters.ts'

/**
 * Returns the index of the closing quote, or -1.
 *
 * @param start of the string, after its opening quote
 * @param from where to start searching: no earlier quote ends the string
 */
export function closingQuote (text: string | Buffer, start: number, from = start): number {
  let end = nextQuote(text, from)
  while (end !== -1 && isEscaped(text, end, start)) end = nextQuote(text, end + 1)
  return end
}

function nextQuote (text: string | Buffer, from: number): number {
  return typeof text === 'string' ? text.indexOf('"', from) : text.indexOf(quote, from)
}

/** Returns true if an odd number of backslashes precedes an index of a string that begins at `start`. */
export function isEscaped (text: string | Buffer, at: number, start: number): boolean {
  let first = at
  while (first > start && codeAt(text, first - 1) === backslash) first--
  return (at - first) % 2 === 1
}

function codeAt (text: string | Buffer, at: number): number | undefined {
  return typeof text === 'string' ? text.charCodeAt(at) : text[at]
}
