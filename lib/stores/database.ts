/**
 * The interface of the store, the same for SQLite and PostgreSQL.
 *
 * Queries use Kysely on the tables of `tables.ts`. What the engines do differently is a member here,
 * implemented in `sqlite/` and `postgres/`. Times are Unix milliseconds.
 */

import type { Kysely, SelectQueryBuilder } from 'kysely'
import type { HistogramValue } from '../core/histogram.ts'
import type { Settings } from '../core/settings.ts'
import type { Statement } from './sqlite/statement-cache.ts'
import type { Tables, UsageRow } from './tables.ts'

export interface Database {
  /** The store's name in messages: its file, or its URL without credentials. */
  readonly name: string
  /** This process's data directory, which holds its journals. */
  readonly directory: string
  readonly query: Kysely<Tables>
  /** Returns the time of the clock shared by all processes on the store; leases are compared with it. */
  readonly now: () => number
  /** Makes a subquery skip rows that another process is claiming. */
  readonly skipLocked: <DB, TB extends keyof DB, O>(
    claimed: SelectQueryBuilder<DB, TB, O>
  ) => SelectQueryBuilder<DB, TB, O>
  /** Makes a subquery lock its rows until the end of the statement and read them as they are once locked. */
  readonly lockRows: <DB, TB extends keyof DB, O>(
    found: SelectQueryBuilder<DB, TB, O>
  ) => SelectQueryBuilder<DB, TB, O>
  /**
   * Writes rows and, in the same transactions, adds them to the sums by hour, day and name and to the
   * spending of their keys. Existing rows are kept and count once, so a failed write may be repeated. The row
   * of an open call is replaced by a later one, and so are its amounts.
   *
   * @param rows at most one per call
   * @returns the number of written rows
   */
  readonly insertUsage: (rows: readonly UsageRow[]) => Promise<number>
  /**
   * Runs `work` in one transaction that acquires the write lock first.
   *
   * @param moments times of the usage rows it may insert, which must be new
   */
  readonly transaction: <T>(moments: readonly number[], work: (within: Within) => Promise<T>) => Promise<T>
  /** Maximum rows per `insertUsage`. */
  readonly maxBatchRows: number
  /** Rows to sum up per transaction while calls are being served. */
  readonly maxSummedRows: number
  /** Deletes usage rows and rollups beyond the retention limits. */
  readonly pruneUsage: (retention: Retention, nowMs: number) => Promise<void>
  /** @throws StoreError if the store is read-only, locked for too long or unreachable. */
  readonly checkWritable: () => Promise<void>
  /** Returns false if the file was deleted or replaced: later writes are lost when the process ends. */
  readonly storeFileIntact: () => boolean
  /** Returns false while the store does not respond, or is not the one that was opened. */
  readonly isReachable: () => boolean
  /** Returns the seconds spent in queries. Absent if the store is a file. */
  readonly queries?: () => HistogramValue
  /**
   * From now on a locked file causes an error immediately; `retryWhenLocked` retries without blocking the
   * process.
   */
  readonly stopWaiting: () => void
  /** Closes all connections. SQLite first merges everything into one file. */
  readonly close: () => Promise<void>
}

/** The operations of a transaction. */
export interface Within {
  readonly query: Kysely<Tables>
  /** Writes rows and adds them to the sums, like the store's `insertUsage`. */
  readonly insertUsage: (rows: readonly UsageRow[]) => Promise<void>
  /** Adds stored rows to the sums of their names, or subtracts them with -1. Skips rows of the backlog. */
  readonly addNames: (rows: readonly UsageRow[], sign: 1 | -1) => Promise<void>
}

/** The embedded store. */
export interface SqliteDatabase extends Database {
  readonly path: string
  /**
   * Runs `work` synchronously in one write transaction, which blocks this process. Use it for many small
   * writes, which Kysely would compile one by one.
   */
  readonly write: <T>(work: (prepare: (sql: string) => Statement) => T) => T
  /** Writes a complete snapshot to a path that does not exist yet. */
  readonly copyTo: (path: string) => void
}

/** Which usage rows are kept. */
export interface Retention {
  readonly keepDays: number
  readonly keepRows: number
}

/** The settings with the location of the store. */
export interface StoreLocation {
  readonly server: Pick<Settings['server'], 'dataDir'>
  readonly store: Settings['store']
}

export interface DatabaseOptions {
  /** Milliseconds to block the process for a locked file before failing. Default 5,000. */
  readonly busyTimeoutMs?: number
  /** Connections to PostgreSQL. Default: from the settings. */
  readonly maxConnections?: number
}

/** Returns true for the embedded store. */
export function isSqlite (database: Database): database is SqliteDatabase {
  return 'path' in database
}
