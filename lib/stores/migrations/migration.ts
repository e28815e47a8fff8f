/**
 * Defines a migration step. Steps only go forward: a released step is never changed, a later one corrects it.
 * Each works on SQLite and PostgreSQL:
 * - Columns are `text` or `bigint`, without `autoincrement`, `json`, `boolean` or database timestamps:
 *   booleans are 0 or 1, times Unix milliseconds, and structured values JSON in a `text`.
 * - `without rowid` may end a table; it is left out on PostgreSQL. Partial indexes, `references … on delete
 *   cascade`, `alter table … add column` and `insert … select` are the same on both.
 * - Columns of `usage` are added by `alter table`, as in step 8: on PostgreSQL that reaches every partition.
 * - A step that cannot be written for both defines the difference in `postgres`.
 */

export interface Migration {
  readonly number: number
  readonly sql: string
  /** Returns the SQL for PostgreSQL. */
  readonly postgres?: (sql: string) => string
}
