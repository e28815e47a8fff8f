/**
 * Shows control characters, and others that are invisible or change how a line reads, as escapes of JSON.
 * Names that callers and members choose, and what servers answer, are printed on terminals and in mails,
 * where such characters would move the cursor, begin a line or hide what follows.
 */
export function printable (text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped)
}

/** Returns the same of a text of several lines: line ends and tabs stay. JSON still has the same value. */
export function printableLines (text: string): string {
  return text.replace(/\r\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, found =>
    layout.has(found) ? found : escaped(found)
  )
}

const layout: ReadonlySet<string> = new Set(['\r\n', '\n', '\t'])

/** Escapes each half of a character of two. */
function escaped (character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  ).join('')
}
