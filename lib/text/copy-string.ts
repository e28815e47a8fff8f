/**
 * Returns a copy of the text with its own memory. A slice retains the whole text it was cut from. If that
 * text has two bytes per character, so do the slice and every text that it becomes part of, which makes an
 * answer several times as expensive to write.
 */
export function copyString (text: string): string {
  return Buffer.from(text).toString()
}
