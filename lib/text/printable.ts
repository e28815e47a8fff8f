/** Makes texts of others safe to print. */

/**
 * Escapes control characters, and others that are invisible or change how a line reads, like JSON does.
 * Terminals and emails show names that callers and members choose, and answers of servers; such characters
 * would move the cursor, begin a line or hide what follows.
 */
export function printable (text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped)
}

/** Does the same for a text of several lines: line ends and tabs stay. JSON keeps its value. */
export function printableLines (text: string): string {
  return text.replace(/\r\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, found =>
    layout.has(found) ? found : escaped(found)
  )
}

const layout: ReadonlySet<string> = new Set(['\r\n', '\n', '\t'])

/** Escapes each half of a surrogate pair. */
function escaped (character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  ).join('')
}
