/**
 * Prints usage rows for other programs: a page of them is in memory at a time, and read when the one
 * before is taken.
 */

import type { Kysely } from 'kysely'
import { beyond } from '../stores/pages.ts'
import { usageColumns, type UsageColumn } from '../stores/usage-columns.ts'
import { csvRow } from '../text/csv.ts'
import { filteredCalls, type CallFilter } from './call-filter.ts'
import type { Tables, UsageRow } from '../stores/tables.ts'

type ExportedRow = Pick<UsageRow, UsageColumn>

interface Format {
  /** Printed before the first record. */
  readonly head: (columns: readonly UsageColumn[]) => string
  readonly print: (row: ExportedRow, columns: readonly UsageColumn[]) => string
}

export const exportFormats = {
  csv: { head: csvRow, print: (row, columns) => csvRow(columns.map(column => row[column])) },
  jsonl: { head: () => '', print: (row, columns) => `${JSON.stringify(row, [...columns])}\n` }
} as const satisfies Readonly<Record<string, Format>>

export type ExportFormat = keyof typeof exportFormats

/** Rows of one query: some milliseconds of SQLite, which answers in the thread that asks. */
const pageRows = 1000

/** The columns that say where the next page begins. */
const cursorColumns = ['at_ms', 'id'] as const

export interface ExportPage {
  readonly text: string
  /** Records in it. */
  readonly rows: number
  /** Where the next page begins; absent after the last one. */
  readonly next?: { readonly ms: number, readonly id: string }
}

/** Prints records by time: the head of the format, then a page in each piece. */
export async function* exportUsage (
  query: Kysely<Tables>,
  filter: CallFilter,
  format: ExportFormat
): AsyncGenerator<string> {
  yield* printPages(format, async after => await exportPage(query, filter, format, after))
}

/** Prints the head of a format, then the pages that `read` returns. */
export async function* printPages (
  format: ExportFormat,
  read: (after: ExportPage['next']) => Promise<ExportPage>,
  columns = usageColumns
): AsyncGenerator<string> {
  const head = exportFormats[format].head(columns)
  if (head !== '') yield head
  let after: ExportPage['next']
  do {
    const { text, next } = await read(after)
    if (text !== '') yield text
    after = next
  } while (after !== undefined)
}

/**
 * Prints the first page of records after a place.
 *
 * @param columns in the order in which they are printed
 */
export async function exportPage (
  query: Kysely<Tables>,
  filter: CallFilter,
  format: ExportFormat,
  after: ExportPage['next'] = { ms: filter.fromMs ?? 0, id: '' }, // no id is less than the empty one
  columns = usageColumns
): Promise<ExportPage> {
  const rows = await filteredCalls(query, { ...filter, fromMs: after.ms })
    .select([...new Set([...columns, ...cursorColumns])].map(column => `record.${column}` as const))
    .where(beyond({ limit: pageRows, after }, 'record.at_ms', 'record.id', 'asc'))
    .orderBy('record.at_ms')
    .orderBy('record.id')
    .limit(pageRows)
    .execute()
  const last = rows.at(-1)
  const text = rows.map(row => exportFormats[format].print(row, columns)).join('')
  return {
    text, rows: rows.length, ...last !== undefined && { next: { ms: last.at_ms, id: last.id } }
  }
}
