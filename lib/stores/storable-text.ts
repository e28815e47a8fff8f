/** Replaces the NUL character, which PostgreSQL refuses in a text, and at which SQLite cuts it. */
export function storableText (text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}
