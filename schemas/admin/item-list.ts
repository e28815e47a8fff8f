/**
 * Lists of names in one query parameter: commas separate them, and a backslash keeps a comma or a backslash
 * in a name.
 */

/** Returns the text of a list. */
export function joinItems (items: readonly string[]): string {
  return items.map(item => item.replace(/[\\,]/g, character => `\\${character}`)).join(',')
}

/** Returns the names in a text, without empty ones. A backslash before another character is one. */
export function splitItems (text: string): string[] {
  const items = ['']
  for (const [piece] of text.matchAll(/\\[\\,]|,|[^\\,]+|\\/g)) {
    if (piece === ',') items.push('')
    else items.push(`${items.pop()}${/^\\[\\,]$/.test(piece) ? piece.slice(1) : piece}`)
  }
  return items.filter(item => item !== '')
}
