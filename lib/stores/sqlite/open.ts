/**
 * Opens the embedded store: SQLite in one file of the data directory, through Kysely.
 *
 * Several processes may use it at the same time: readers never wait, writers wait for each other. Bind only
 * strings, finite numbers, `null` and bytes: the driver silently turns other objects into `null`.
 */

import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Kysely, SqliteDialect } from 'kysely'
import { prunePartySpending } from '../party-spending.ts'
import { pruneRollups } from '../prune-rollups.ts'
import { retryWhenLocked } from '../retry-when-locked.ts'
import { StoreError } from '../store-error.ts'
import { createPrivately, databasePath, fileId } from './database-file.ts'
import { addNames } from './add-names.ts'
import { insertInSlices, insertUsageWithin } from './insert-usage.ts'
import { migrate } from './migrate.ts'
import { pruneUsage } from './prune-usage.ts'
import { StatementCache } from './statement-cache.ts'
import type * as Sqlite from '@photostructure/sqlite'
import type { DatabaseOptions, SqliteDatabase } from '../database.ts'
import type { Tables } from '../tables.ts'

/**
 * Bytes that the write-ahead log keeps on the disk. It grows while a backup or a long report reads an earlier
 * state of the store, and would otherwise stay that long until the last process has stopped.
 */
const keptLogBytes = 64 * 1024 * 1024
/** Milliseconds that closing waits for the writes of other processes. */
const closeTimeoutMs = 1000

/**
 * Opens the store and migrates its tables. Creates missing directories and files, accessible only to their
 * owner.
 *
 * @throws StoreError
 */
export async function openSqlite (
  dataDir: string,
  { busyTimeoutMs = 5_000 }: DatabaseOptions = {}
): Promise<SqliteDatabase> {
  const path = databasePath(dataDir)
  const { DatabaseSync } = loadSqlite()
  let file: Sqlite.DatabaseSyncInstance
  let openedId: string | undefined
  try {
    createPrivately(path)
    // If two processes enable the write-ahead log at the same moment, SQLite refuses one of them immediately,
    // regardless of the timeout.
    file = await retryWhenLocked(
      async () => prepared(new DatabaseSync(path, { timeout: busyTimeoutMs })),
      busyTimeoutMs
    )
    openedId = fileId(path)
  } catch (error) {
    throw new StoreError(path, error)
  }
  const statements = new StatementCache(file)
  const query = new Kysely<Tables>({ dialect: new SqliteDialect({ database: statements.forKysely() }) })
  const isInPlace = (): boolean => openedId !== undefined && fileId(path) === openedId
  const write: SqliteDatabase['write'] = work =>
    inTransaction(file, () => work(sql => statements.prepare(sql)))
  return {
    path,
    name: path,
    directory: dataDir,
    query,
    now: Date.now,
    // Writers wait for each other, so no row is locked.
    skipLocked: claimed => claimed,
    lockRows: found => found,
    write,
    maxBatchRows: 200, // takes about a millisecond, which blocks the process
    maxSummedRows: 20, // takes a few milliseconds, which delays calls
    insertUsage: async rows => await insertInSlices({ write }, rows),
    transaction: async (_moments, work) =>
      await query.transaction().execute(async transaction => {
        // a transaction that starts with a read fails to write if another process has written since
        await transaction.updateTable('keys').set({ name: '' }).where('id', '=', '').execute()
        return await work({
          query: transaction,
          insertUsage: async rows => { insertUsageWithin(sql => statements.prepare(sql), rows) },
          addNames: async (rows, sign) => addNames(sql => statements.prepare(sql), rows, sign)
        })
      }),
    pruneUsage: async (retention, nowMs) => {
      await pruneUsage(query, retention, nowMs)
      await pruneRollups(query, retention, nowMs)
      await prunePartySpending(query, nowMs)
    },
    isReachable: isInPlace,
    checkWritable: async () => {
      try {
        file.exec('begin immediate; rollback')
      } catch (error) {
        throw new StoreError(path, error)
      }
    },
    storeFileIntact: isInPlace,
    stopWaiting: () => file.exec('pragma busy_timeout = 0'),
    copyTo: target => {
      // SQLite accepts an empty file; creating one itself, it would be readable by everyone
      closeSync(openSync(target, 'wx', 0o600))
      file.prepare('vacuum into ?').run(target)
    },
    close: async () => {
      if (file.isOpen && isInPlace()) checkpoint(file)
      await query.destroy()
      // Kysely closes only what it has used.
      if (file.isOpen) file.close()
    }
  }
}

/**
 * Loads the native library on demand, because half of the commands never need it. `require` takes half as
 * long as `import`.
 */
function loadSqlite (): typeof Sqlite {
  return createRequire(import.meta.url)('@photostructure/sqlite') as typeof Sqlite // the package's types
}

function prepared (file: Sqlite.DatabaseSyncInstance): Sqlite.DatabaseSyncInstance {
  try {
    // NORMAL with a write-ahead log: a power cut may lose the last commits, but never corrupts the file.
    // Deleted rows are overwritten, because they may contain prompts of deferred calls.
    file.exec(
      'pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on; pragma secure_delete = on'
    )
    file.exec(`pragma journal_size_limit = ${keptLogBytes}`)
    migrate(file)
    return file
  } catch (error) {
    file.close()
    throw error
  }
}

function inTransaction<T> (file: Sqlite.DatabaseSyncInstance, work: () => T): T {
  file.exec('begin immediate')
  try {
    const result = work()
    file.exec('commit')
    return result
  } catch (error) {
    // A full disk has already caused a rollback.
    if (file.isTransaction) file.exec('rollback')
    throw error
  }
}

/**
 * Checkpoints the write-ahead log and truncates it. SQLite does so itself only when the last connection is
 * really closed, which prepared statements delay until they are garbage-collected.
 */
function checkpoint (file: Sqlite.DatabaseSyncInstance): boolean {
  try {
    file.exec(`pragma busy_timeout = ${closeTimeoutMs}; pragma wal_checkpoint(truncate)`)
    return true
  } catch {
    return false // on a full or read-only disk everything stays in the log, and the next start reads it
  }
}
