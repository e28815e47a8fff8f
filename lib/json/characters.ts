/** Codes of the characters that JSON is built of, the same in strings and in UTF-8 bytes. */

export const quote = 0x22
export const comma = 0x2c
export const colon = 0x3a
export const backslash = 0x5c
export const openList = 0x5b
export const closeList = 0x5d
export const openObject = 0x7b
export const closeObject = 0x7d

/** Returns true for JSON white space: space, tab, line feed or carriage return. */
export function isSpace (code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
