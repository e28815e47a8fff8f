/**
 * Checks what a header can carry: tabs, printable ASCII and Latin-1. A line break in one would begin another
 * header, or another request.
 */

const unfit = /[^\t\x20-\x7e\x80-\xff]/

export function isHeaderSafe (text: string): boolean {
  return !unfit.test(text)
}

/** Returns the position of the first character that does not fit, from 1; 0 when all do. */
export function firstInvalidChar (text: string): number {
  return text.search(unfit) + 1
}
