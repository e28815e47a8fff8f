/**
 * Defines what the rest of the gateway sees of the store, the same for SQLite and PostgreSQL.
 *
 * Queries are Kysely's, on the tables of `tables.ts`. What the engines do in different ways is a member here,
 * and a file of the same name in `sqlite/` and `postgres/`. Times are Unix milliseconds.
 */

import type { Kysely, SelectQueryBuilder } from 'kysely'
import type { HistogramValue } from '../core/histogram.ts'
import type { Settings } from '../core/settings.ts'
import type { Statement } from './sqlite/statement-cache.ts'
import type { Tables, UsageRow } from './tables.ts'

export interface Database {
  /** Names the store in messages: its file, or its address without credentials. */
  readonly name: string
  /** The data directory of this process, where its journals are. */
  readonly directory: string
  readonly query: Kysely<Tables>
  /** Returns the time by the clock that all processes on the store share: leases are compared with it. */
  readonly now: () => number
  /** Makes a subquery pass over rows that another process is claiming at this moment. */
  readonly skipLocked: <DB, TB extends keyof DB, O>(
    claimed: SelectQueryBuilder<DB, TB, O>
  ) => SelectQueryBuilder<DB, TB, O>
  /**
   * Makes a subquery lock the rows that it finds, as they are when it has the locks, until its statement
   * ends.
   */
  readonly lockRows: <DB, TB extends keyof DB, O>(
    found: SelectQueryBuilder<DB, TB, O>
  ) => SelectQueryBuilder<DB, TB, O>
  /**
   * Writes rows, and in the same transactions adds what they used to the sums of their hours, days and names
   * and to the spending of their keys. A row that is there already is left as it is and counts once: what
   * failed may be written again. That of an open call is replaced by a later one, and what it had added with
   * it.
   *
   * @param rows each of a call of its own
   * @returns how many rows were written
   */
  readonly insertUsage: (rows: readonly UsageRow[]) => Promise<number>
  /**
   * Runs `work` in one transaction, which takes the lock of a writer first.
   *
   * @param moments the times of the usage rows that it may insert, which must be new
   */
  readonly transaction: <T>(moments: readonly number[], work: (within: Within) => Promise<T>) => Promise<T>
  /** Rows to give to `insertUsage` at once. */
  readonly maxBatchRows: number
  /** Rows to sum up in one transaction, beside calls. */
  readonly maxSummedRows: number
  /** Deletes usage rows and rollups that are older, or more, than are kept. */
  readonly pruneUsage: (retention: Retention, nowMs: number) => Promise<void>
  /** @throws StoreError when nothing can be written: read-only, locked for too long, or away. */
  readonly checkWritable: () => Promise<void>
  /**
   * Returns false once the path refers to another file or to none (deleted or replaced): what is written from
   * then on is lost when the process ends.
   */
  readonly storeFileIntact: () => boolean
  /** Returns false while the store does not answer, or is not the one that was opened. */
  readonly isReachable: () => boolean
  /** Returns the seconds that queries took. Absent where the store is a file. */
  readonly queries?: () => HistogramValue
  /**
   * From now on a locked file is an error at once; `retryWhenLocked` tries again without blocking the
   * process.
   */
  readonly stopWaiting: () => void
  /** Closes all connections; SQLite brings everything into the one file first. */
  readonly close: () => Promise<void>
}

/** What a transaction has of the store. */
export interface Within {
  readonly query: Kysely<Tables>
  /** Writes rows and adds what they used, as `insertUsage` of the store does. */
  readonly insertUsage: (rows: readonly UsageRow[]) => Promise<void>
  /**
   * Adds stored rows to the sums of the names that they have, or with -1 subtracts them. Rows of the backlog
   * are left out.
   */
  readonly addNames: (rows: readonly UsageRow[], sign: 1 | -1) => Promise<void>
}

/** The embedded store. */
export interface SqliteDatabase extends Database {
  readonly path: string
  /**
   * Runs `work` synchronously in one write transaction: nothing else of this process runs meanwhile. For many
   * small writes, which Kysely would compile one by one.
   */
  readonly write: <T>(work: (prepare: (sql: string) => Statement) => T) => T
  /** Writes a complete copy, as of this moment, to a path where there is no file. */
  readonly copyTo: (path: string) => void
}

/** The usage rows that are kept. */
export interface Retention {
  readonly keepDays: number
  readonly keepRows: number
}

/** The settings that say where the store is. */
export interface StoreLocation {
  readonly server: Pick<Settings['server'], 'dataDir'>
  readonly store: Settings['store']
}

export interface DatabaseOptions {
  /** Milliseconds that a locked file blocks the process before it is an error. Default 5,000. */
  readonly busyTimeoutMs?: number
  /** Connections to PostgreSQL. Default: those of the settings. */
  readonly maxConnections?: number
}

/** Returns true for the embedded store. */
export function isSqlite (database: Database): database is SqliteDatabase {
  return 'path' in database
}
