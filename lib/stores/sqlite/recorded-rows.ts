import { sql, type Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

/**
 * Returns the ids of ended calls whose rows are in the ledger, with one query that looks up each by key. Rows
 * stored as interrupted do not count, because they are going to be replaced.
 */
export async function recordedRows (
  query: Kysely<Tables>,
  rows: ReadonlyArray<{ readonly id: string, readonly atMs: number }>
): Promise<ReadonlySet<string>> {
  const keys = JSON.stringify(rows.map(({ id, atMs }) => [atMs, id]))
  // `cross join` keeps the order; otherwise SQLite might scan the ledger first.
  const found = await sql<{ readonly id: string }>`select usage.id from json_each(${keys}) as wanted
    cross join usage on usage.at_ms = wanted.value ->> 0 and usage.id = wanted.value ->> 1 and usage.outcome <> 'interrupted'`.execute(
    query
  )
  return new Set(found.rows.map(({ id }) => id))
}
