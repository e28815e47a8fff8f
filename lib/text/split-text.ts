/** Cuts texts without dividing a character. */

/** Yields a text in parts of a given number of characters; a surrogate pair is never divided. */
export function * splitText (text: string, partLength: number): Generator<string, void, undefined> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = cutAt(text, Math.min(from + partLength, text.length))
    yield text.slice(from, to)
  }
}

/** Returns where to cut a text: at an index, or one before it inside a surrogate pair. */
export function cutAt (text: string, index: number): number {
  return index < text.length && isLeadSurrogate(text.charCodeAt(index - 1)) ? index - 1 : index
}

function isLeadSurrogate (code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
