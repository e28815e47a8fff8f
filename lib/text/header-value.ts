/**
 * Checks which text a header can carry: tabs, printable ASCII and Latin-1. A line break would begin another
 * header, or another request.
 */

const unfit = /[^\t\x20-\x7e\x80-\xff]/

export function isHeaderSafe (text: string): boolean {
  return !unfit.test(text)
}

/** Returns the position of the first invalid character, from 1; 0 if all are valid. */
export function firstInvalidChar (text: string): number {
  return text.search(unfit) + 1
}

/**
 * Returns text as a header value of at most 256 characters, with `?` for everything except printable ASCII.
 */
export function toHeaderValue (text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 256)
}
