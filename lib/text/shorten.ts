const maxLength = 200

/** Shortens what a caller wrote, to be quoted in an error: it may be of any length. */
export function shorten (text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}
