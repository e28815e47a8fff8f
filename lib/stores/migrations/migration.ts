/**
 * Defines a step of the schema of the store. Forward only: a released step is never changed, a later one
 * corrects it. Each holds on SQLite and on PostgreSQL:
 *
 * - Columns are `text` or `bigint`, without `autoincrement`, `json`, `boolean` or times of the database:
 *   booleans are 0 or 1, times Unix milliseconds, and what has a shape of its own is JSON in a `text`.
 * - `without rowid` may end a table; it is left out on PostgreSQL. Partial indexes, `references … on delete
 *   cascade`, `alter table … add column` and `insert … select` are the same on both.
 * - Columns of `usage` are added by `alter table`, as in step 8: on PostgreSQL that reaches every partition.
 * - A step that cannot be written for both says in `postgres` what differs.
 */

export interface Migration {
  readonly number: number
  readonly sql: string
  /** Returns what PostgreSQL runs instead. */
  readonly postgres?: (sql: string) => string
}
