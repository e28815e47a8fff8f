/**
 * Keeps usage rows in a file until they are in the database, as one line of JSON each. The file survives
 * `kill -9` and running out of memory: `importJournals` reads it at the next start.
 *
 * The lines of one tick are appended with one write at its end. If only one call is open, its line is written
 * immediately to save it a tick. Nothing is synced to disk: as with the database, a power cut may lose the
 * last seconds.
 */

import { closeSync, fstatSync, futimesSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { createDirectory } from '../stores/sqlite/database-file.ts'
import { isList, property } from '../json/type-guards.ts'
import { emptyRow, usageColumns } from '../stores/usage-columns.ts'
import { readListedValues } from './listed-values.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Lines per write: half a megabyte. */
const linesPerWrite = 1000
/** Delay after a failed write, in milliseconds: further writes would most likely fail too. */
const retryMs = 100

export class Journal {
  readonly path: string
  #file: number | undefined
  /** Lines not yet written. */
  #lines: string[] = []
  #appended: Promise<void> | undefined
  #error: unknown
  #failedAtMs = -Infinity
  #hasIncompleteLine = false
  #size = 0

  /** @param path the file; it is created with the first line */
  constructor (path: string) {
    this.path = path
  }

  /** Returns the error of the last write if it failed. Its lines are retried with the next ones. */
  get error (): unknown {
    return this.#error
  }

  /** Number of lines not yet written. */
  get unwritten (): number {
    return this.#lines.length
  }

  /** Size of the file in bytes. */
  get size (): number {
    return this.#size
  }

  /** Appends a line at the end of this tick; resolves when the write is done, has failed, or is put off. */
  append (line: string): Promise<void> {
    this.#lines.push(line)
    this.#appended ??= new Promise(resolve => {
      setImmediate(() => {
        this.#appended = undefined
        this.#flushUnlessFailed()
        resolve()
      })
    })
    return this.#appended
  }

  /**
   * Appends a line immediately unless other lines of this tick are waiting; then as `append` does.
   *
   * @returns `undefined` once the line is written, or could not be
   */
  appendNow (line: string): Promise<void> | undefined {
    if (this.#appended !== undefined) return this.append(line)
    this.#lines.push(line)
    this.#flushUnlessFailed()
    return undefined
  }

  #flushUnlessFailed (): void {
    if (performance.now() - this.#failedAtMs > retryMs) this.flush()
  }

  /** Writes all pending lines now. */
  flush (): void {
    try {
      while (this.#lines.length > 0) {
        this.#file ??= openNew(this.path)
        this.#write(this.#file)
      }
      this.#error = undefined
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Replaces the file's content. The old file stays in use until the new one is complete. */
  replace (lines: readonly string[]): void {
    const [old, hadIncompleteLine, size] = [this.#file, this.#hasIncompleteLine, this.#size]
    this.#lines = [...lines]
    this.#size = 0
    this.#hasIncompleteLine = false
    try {
      if (lines.length === 0) rmSync(this.path, { force: true })
      this.#file = lines.length === 0 ? undefined : this.#replaceFile()
      this.#error = undefined
      if (old !== undefined) closeSync(old)
    } catch (error) {
      this.#lines = [...lines]
      this.#file = old
      this.#hasIncompleteLine = hadIncompleteLine
      this.#size = size
      this.#failed(error)
    }
  }

  /** Returns true if the file was deleted: lines appended to it would be lost. */
  isDeleted (): boolean {
    return this.#file !== undefined && fstatSync(this.#file).nlink === 0
  }

  /** Updates the file's modification time to show that its process is alive. */
  touch (): void {
    const now = new Date()
    if (this.#file !== undefined) futimesSync(this.#file, now, now)
  }

  /** Stops writing and renames the file, to mark it as complete. */
  moveTo (path: string): void {
    this.flush()
    if (this.#file === undefined) return
    closeSync(this.#file)
    this.#file = undefined
    this.#size = 0
    renameSync(this.path, path)
  }

  #failed (error: unknown): void {
    this.#error = error
    this.#failedAtMs = performance.now()
  }

  /** Writes all lines to a new file and renames it over this one. */
  #replaceFile (): number {
    const part = `${this.path}.part`
    const file = openNew(part)
    try {
      while (this.#lines.length > 0) this.#write(file)
      renameSync(part, this.path)
      return file
    } catch (error) {
      closeSync(file)
      rmSync(part, { force: true })
      throw error
    }
  }

  /** Writes a batch of lines and removes the complete ones from the pending list. */
  #write (file: number): void {
    const lines = this.#lines.slice(0, linesPerWrite)
    // Ends a line that a full disk cut off; readers skip it.
    const bytes = Buffer.from(`${this.#hasIncompleteLine ? '\n' : ''}${lines.join('\n')}\n`)
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(file, bytes, written)
    } finally {
      const complete =
        written === bytes.length
          ? lines.length
          : linesIn(bytes.subarray(0, written)) - Number(this.#hasIncompleteLine && written > 0)
      this.#lines.splice(0, complete)
      this.#size += written
      if (written > 0) this.#hasIncompleteLine = bytes[written - 1] !== newline
    }
  }
}

const newline = 0x0a

function openNew (path: string): number {
  try {
    return openSync(path, 'a', 0o600)
  } catch (error) {
    if (property(error, 'code') !== 'ENOENT') throw error
    createDirectory(dirname(path)) // recreate the deleted folder
    return openSync(path, 'a', 0o600)
  }
}

function linesIn (bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte === newline) count++
  return count
}

/** Prints a row as an object without its empty columns. */
export function printLine (row: UsageRow): string {
  const values: Record<string, unknown> = {}
  for (const column of usageColumns) if (row[column] !== null) values[column] = row[column]
  return JSON.stringify(values)
}

/** Parses a line; `undefined` if it was cut off. */
export function readLine (line: string): UsageRow | undefined {
  try {
    const values = JSON.parse(line) as Partial<UsageRow> | readonly unknown[] // written by a gateway
    const row = isList(values) ? readListedValues(values) : values
    return { ...emptyRow, ...row } as UsageRow // the values of other columns are in every line
  } catch {
    return undefined
  }
}
