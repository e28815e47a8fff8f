/** Yields a text in parts of so many characters; a character of two halves is in one part. */
export function * splitText (text: string, partLength: number): Generator<string, void, undefined> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(from + partLength, text.length)
    if (to < text.length && isLeadSurrogate(text.charCodeAt(to - 1))) to--
    yield text.slice(from, to)
  }
}

function isLeadSurrogate (code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
