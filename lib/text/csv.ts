/**
 * Prints one row of CSV (RFC 4180) with its line end; `null` is an empty cell.
 *
 * Spreadsheets run what begins like a formula, and names are callers' own: such a text gets an apostrophe in
 * front.
 */
export function csvRow (cells: ReadonlyArray<string | number | null>): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

function cellOf (value: string | number | null): string {
  if (typeof value !== 'string') return String(value ?? '')
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
