/**
 * Prints one row of CSV (RFC 4180) with its line end; `null` is an empty cell.
 *
 * Spreadsheets evaluate cells that begin like a formula, and callers choose names: such a text gets a leading
 * apostrophe.
 */
export function csvRow (cells: ReadonlyArray<string | number | null>): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

function cellOf (value: string | number | null): string {
  if (typeof value !== 'string') return String(value ?? '')
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
