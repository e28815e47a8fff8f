/** Yields a text in parts of so many characters; a character of two halves is in one part. */
export function * splitText (text: string, partLength: number): Generator<string, void, undefined> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = cutAt(text, Math.min(from + partLength, text.length))
    yield text.slice(from, to)
  }
}

/**
 * Returns where to cut a text: at this index, or before it where that is within a character of two halves.
 */
export function cutAt (text: string, index: number): number {
  return index < text.length && isLeadSurrogate(text.charCodeAt(index - 1)) ? index - 1 : index
}

function isLeadSurrogate (code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
