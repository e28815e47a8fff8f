/** Prints usage rows for other programs. Only one page is in memory at a time; the next is read on demand. */

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

/** Rows per query: a few milliseconds of SQLite, which runs in the calling thread. */
const pageRows = 1000

/** The columns of a page cursor. */
const cursorColumns = ['at_ms', 'id'] as const

export interface ExportPage {
  readonly text: string
  /** Number of records in the page. */
  readonly rows: number
  /** Cursor of the next page; absent after the last one. */
  readonly next?: { readonly ms: number, readonly id: string }
}

/** Yields records in order of time: the head of the format, then one page per piece. */
export async function* exportUsage (
  query: Kysely<Tables>,
  filter: CallFilter,
  format: ExportFormat
): AsyncGenerator<string> {
  yield* printPages(format, async after => await exportPage(query, filter, format, after))
}

/** Yields the head of a format, then the pages that `read` returns. */
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
 * Prints the first page of records after a cursor.
 *
 * @param columns in print order
 */
export async function exportPage (
  query: Kysely<Tables>,
  filter: CallFilter,
  format: ExportFormat,
  after: ExportPage['next'] = { ms: filter.fromMs ?? 0, id: '' }, // the empty id sorts before all others
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
