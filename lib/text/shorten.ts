const maxLength = 200

/** Shortens a caller's text of any length, to quote it in an error. */
export function shorten (text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}
