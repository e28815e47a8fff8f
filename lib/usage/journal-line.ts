/** Prints and reads the lines of a journal: a row that is complete, or the short one of a call that has begun. */

import { isList } from '../json/guards.ts'
import { minValues, printCompact, rowOfValues } from '../stores/compact-values.ts'
import { readBegunRow } from './begun-row.ts'
import type { UsageRow } from '../stores/tables.ts'

export function printLine (row: UsageRow): string {
  return printCompact(row) ?? JSON.stringify(row)
}

/** Returns the row of a line; `undefined` for one that was cut off. */
export function readLine (line: string): UsageRow | undefined {
  try {
    const row = JSON.parse(line) as UsageRow | readonly unknown[] // written by us
    if (!isList(row)) return row
    return row.length >= minValues ? rowOfValues(row) : readBegunRow(row)
  } catch {
    return undefined
  }
}
