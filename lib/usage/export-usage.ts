/**
 * Prints usage records for other programs: a page of them is in memory at a time, and read when the one
 * before is taken.
 */

import type { Kysely } from 'kysely'
import { beyond } from '../stores/pages.ts'
import { usageColumns } from '../stores/usage-columns.ts'
import { csvRow } from '../text/csv.ts'
import type { Tables, UsageRow } from '../stores/tables.ts'

/** The moments at which calls were accepted. */
export interface ExportPeriod {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

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

/** Prints the records of a period by time: the head of the format, then a page in each piece. */
export async function* exportUsage (
  query: Kysely<Tables>,
  period: ExportPeriod,
  format: ExportFormat
): AsyncGenerator<string> {
  const { head, print } = exportFormats[format]
  if (head !== '') yield head
  for await (const rows of usagePages(query, period)) yield rows.map(print).join('')
}

async function* usagePages (
  query: Kysely<Tables>,
  { fromMs, untilMs }: ExportPeriod
): AsyncGenerator<UsageRow[]> {
  // No id is less than the empty one.
  let after = { ms: fromMs, id: '' }
  for (;;) {
    const rows = await query
      .selectFrom('usage')
      .select(usageColumns)
      .where('at_ms', '>=', after.ms)
      .where('at_ms', '<', untilMs)
      .where(beyond({ limit: pageRows, after }, 'at_ms', 'id', 'asc'))
      .orderBy('at_ms')
      .orderBy('id')
      .limit(pageRows)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = { ms: last.at_ms, id: last.id }
  }
}
