/**
 * Looks after the file of the store, from outside of SQLite.
 *
 * Nothing here opens a file that exists. On POSIX systems closing any descriptor of a file drops all
 * locks that the process has on it, those of SQLite included: another program that opens and closes
 * the store then takes itself for the last user and deletes the write-ahead log in use.
 *
 * @see https://www.sqlite.org/howtocorrupt.html section 2.2
 */

import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Returns the file of the store in a data directory. */
export function databasePath (dataDir: string): string {
  return join(dataDir, 'headgate.db')
}

/**
 * Returns true where the file of the store is there and empty: a new store begins in it, and an earlier one
 * is lost.
 */
export function isEmptyFile (path: string): boolean {
  // a file where a directory should be is the store's to report
  return existsSync(path) && statSync(path, { throwIfNoEntry: false })?.size === 0
}

/** Creates an empty file, and its directory, for their owner only; `-wal` and `-shm` take over its mode. */
export function createPrivately (path: string): void {
  createDirectory(dirname(path))
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    // Another process of the same gateway may have been faster.
    if (!existsSync(path)) throw error
  }
}

/**
 * Returns what distinguishes a file from another one that takes its path; `undefined` where there is none.
 */
export function fileId (path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

/**
 * Creates a directory and those above it, one at a time. Node's recursive form never ends where a
 * directory exists but answers ENOENT to every attempt to add to it, as `/proc` does.
 */
export function createDirectory (path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) createDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process of the same gateway may have been faster.
    if (!existsSync(path)) throw error
  }
}
