/**
 * Prints usage records for other programs: a page of them is in memory at a time, and read when the one
 * before is taken.
 */

import type { Kysely } from 'kysely'
import { beyond } from '../stores/pages.ts'
import { usageColumns } from '../stores/usage-columns.ts'
import { csvRow } from '../text/csv.ts'
import { filteredCalls, type CallFilter } from './call-filter.ts'
import type { Tables, UsageRow } from '../stores/tables.ts'

interface Format {
  /** Printed before the first record. */
  readonly head: string
  readonly print: (row: UsageRow) => string
}

export const exportFormats = {
  csv: { head: csvRow(usageColumns), print: row => csvRow(usageColumns.map(column => row[column])) },
  jsonl: { head: '', print: row => `${JSON.stringify(row)}\n` }
} as const satisfies Readonly<Record<string, Format>>

export type ExportFormat = keyof typeof exportFormats

/** Rows of one query: some milliseconds of SQLite, which answers in the thread that asks. */
const pageRows = 1000

export interface ExportPage {
  readonly text: string
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
  read: (after: ExportPage['next']) => Promise<ExportPage>
): AsyncGenerator<string> {
  const { head } = exportFormats[format]
  if (head !== '') yield head
  let after: ExportPage['next']
  do {
    const { text, next } = await read(after)
    if (text !== '') yield text
    after = next
  } while (after !== undefined)
}

/** Prints the first page of records after a place. */
export async function exportPage (
  query: Kysely<Tables>,
  filter: CallFilter,
  format: ExportFormat,
  after: ExportPage['next'] = { ms: filter.fromMs ?? 0, id: '' } // no id is less than the empty one
): Promise<ExportPage> {
  const rows = await filteredCalls(query, { ...filter, fromMs: after.ms })
    .select(usageColumns.map(column => `record.${column}` as const))
    .where(beyond({ limit: pageRows, after }, 'record.at_ms', 'record.id', 'asc'))
    .orderBy('record.at_ms')
    .orderBy('record.id')
    .limit(pageRows)
    .execute()
  const last = rows.at(-1)
  const text = rows.map(exportFormats[format].print).join('')
  return last === undefined ? { text } : { text, next: { ms: last.at_ms, id: last.id } }
}
