/**
 * Opens the embedded store: SQLite in one file of the data directory, through Kysely.
 *
 * Several processes may have it open at once: readers never wait, writers wait for each other.
 * Times are Unix milliseconds. Values bound here are strings, finite numbers, `null` and bytes
 * only: the driver silently turns other objects into `null`.
 */

import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { Kysely, SqliteDialect } from 'kysely'
import { createPrivately, fileId } from './database-file.ts'
import { migrate } from './migrations.ts'
import { retryWhenLocked } from './retry-when-locked.ts'
import { StatementCache, type Statement } from './statement-cache.ts'
import { StoreError } from './store-error.ts'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Tables } from './tables.ts'

export interface Database {
  readonly path: string
  readonly query: Kysely<Tables>
  /**
   * Runs `work` synchronously in one write transaction: nothing else of this process runs meanwhile. For many
   * small writes, which Kysely would compile one by one.
   */
  readonly write: <T>(work: (prepare: (sql: string) => Statement) => T) => T
  /** @throws StoreError when nothing can be written: read-only, or locked for too long. */
  readonly checkWritable: () => void
  /**
   * Returns false once the path refers to another file or to none (deleted or replaced): what is written from
   * then on is lost when the process ends.
   */
  readonly storeFileIntact: () => boolean
  /** From now on a locked file is an error at once; `retryWhenLocked` tries again without blocking the process. */
  readonly stopWaiting: () => void
  /** Writes a complete copy, as of this moment, to a path where there is no file. */
  readonly copyTo: (path: string) => void
  /** Brings everything into the one file, and closes it. */
  readonly close: () => Promise<void>
}

export interface DatabaseOptions {
  /** Milliseconds that a locked file blocks the process before it is an error. Default 5,000. */
  readonly busyTimeoutMs?: number
}

/** Milliseconds that a close waits for the writes of other processes. */
const closeTimeoutMs = 1000

/** Returns the file of the store in a data directory. */
export function databasePath (dataDir: string): string {
  return join(dataDir, 'headgate.db')
}

/**
 * Opens the store, creating what is missing: the directory and the file, both for their owner only.
 * Migrates its tables first.
 *
 * The native library is loaded here and not with this module: it takes 20 ms, and half of the commands never open the store.
 *
 * @throws StoreError
 */
export async function openDatabase (
  dataDir: string, { busyTimeoutMs = 5_000 }: DatabaseOptions = {}
): Promise<Database> {
  const path = databasePath(dataDir)
  const { DatabaseSync } = await import('@photostructure/sqlite')
  let file: DatabaseSyncInstance
  let openedId: string | undefined
  try {
    createPrivately(path)
    // Two processes that turn the write-ahead log on at the same moment: SQLite refuses one of them at once, whatever its timeout.
    file = await retryWhenLocked(async () => prepared(new DatabaseSync(path, { timeout: busyTimeoutMs })), busyTimeoutMs)
    openedId = fileId(path)
  } catch (error) {
    throw new StoreError(path, error)
  }
  const statements = new StatementCache(file)
  const query = new Kysely<Tables>({ dialect: new SqliteDialect({ database: statements.forKysely() }) })
  const isInPlace = (): boolean => openedId !== undefined && fileId(path) === openedId
  return {
    path,
    query,
    write: work => inTransaction(file, () => work(sql => statements.prepare(sql))),
    checkWritable: () => {
      try {
        file.exec('begin immediate; rollback')
      } catch (error) {
        throw new StoreError(path, error)
      }
    },
    storeFileIntact: isInPlace,
    stopWaiting: () => file.exec('pragma busy_timeout = 0'),
    copyTo: target => {
      closeSync(openSync(target, 'wx', 0o600)) // SQLite takes an empty file, and would make one that all may read
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

function prepared (file: DatabaseSyncInstance): DatabaseSyncInstance {
  try {
    // NORMAL with a write-ahead log: a power cut may lose the last commits, never the file.
    // Deleted rows are overwritten: they contained prompts of deferred calls.
    file.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on; pragma secure_delete = on')
    migrate(file)
    return file
  } catch (error) {
    file.close()
    throw error
  }
}

function inTransaction<T> (file: DatabaseSyncInstance, work: () => T): T {
  file.exec('begin immediate')
  try {
    const result = work()
    file.exec('commit')
    return result
  } catch (error) {
    // A full disk has rolled back already.
    if (file.isTransaction) file.exec('rollback')
    throw error
  }
}

/**
 * Moves the write-ahead log into the file and empties it. SQLite does so by itself only when the last
 * connection is really closed, which prepared statements put off until they are collected as garbage.
 */
function checkpoint (file: DatabaseSyncInstance): boolean {
  try {
    file.exec(`pragma busy_timeout = ${closeTimeoutMs}; pragma wal_checkpoint(truncate)`)
    return true
  } catch {
    return false // on a full or read-only disk everything stays in the log, where the next start finds it
  }
}
