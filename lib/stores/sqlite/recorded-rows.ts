/** Looks for usage rows by their keys. */

import { sql, type Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

/**
 * Returns the ids of those of the rows of ended calls that are in the usage ledger: one query for all, which
 * looks up each by its key. Those that are there as interrupted are to be replaced yet.
 */
export async function recordedRows (
  query: Kysely<Tables>,
  rows: ReadonlyArray<{ readonly id: string, readonly atMs: number }>
): Promise<ReadonlySet<string>> {
  const keys = JSON.stringify(rows.map(({ id, atMs }) => [atMs, id]))
  // `cross join` keeps the order: SQLite might read the ledger first.
  const found = await sql<{ readonly id: string }>`select usage.id from json_each(${keys}) as wanted
    cross join usage on usage.at_ms = wanted.value ->> 0 and usage.id = wanted.value ->> 1 and usage.outcome <> 'interrupted'`.execute(
    query
  )
  return new Set(found.rows.map(({ id }) => id))
}
