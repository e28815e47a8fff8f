/**
 * Checks the store's file without opening it in SQLite.
 *
 * Nothing here opens an existing file. On POSIX systems closing any descriptor of a file drops all locks of
 * the process on it, including SQLite's. Another program that opens and closes the store then considers
 * itself the last user and deletes the write-ahead log in use.
 *
 * @see https://www.sqlite.org/howtocorrupt.html section 2.2
 */

import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Returns the path of the store in a data directory. */
export function databasePath (dataDir: string): string {
  return join(dataDir, 'headgate.db')
}

/**
 * Returns true if the store's file exists but is empty: SQLite would start a new store and the previous one
 * is lost.
 */
export function isEmptyFile (path: string): boolean {
  // if a file is in place of the directory, opening the store reports it
  return existsSync(path) && statSync(path, { throwIfNoEntry: false })?.size === 0
}

/**
 * Creates an empty file and its directory, accessible only to their owner; `-wal` and `-shm` inherit its
 * mode.
 */
export function createPrivately (path: string): void {
  createDirectory(dirname(path))
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    // Another process of the same gateway may have created it.
    if (!existsSync(path)) throw error
  }
}

/** Returns an identifier that changes when a path's file is replaced; `undefined` if there is no file. */
export function fileId (path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

/**
 * Creates a directory and its parents, one at a time. Node's recursive mode loops forever if an existing
 * directory returns ENOENT for every attempt to create something in it, as `/proc` does.
 */
export function createDirectory (path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) createDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process of the same gateway may have created it.
    if (!existsSync(path)) throw error
  }
}
