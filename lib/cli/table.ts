/** Prints tables and shares for a terminal. */

import { printable } from '../text/printable.ts'

/** Formats rows as aligned columns, two spaces apart. */
export function table (rows: ReadonlyArray<readonly string[]>): string {
  const printed = rows.map(row => row.map(printable))
  const widths: number[] = []
  for (const row of printed) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length)
  }
  return printed
    .map(row => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  ').trimEnd())
    .join('\n')
}

/** Prints a share; `-` if there is nothing. */
export function percent (part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`
}
