/**
 * Keeps the usage rows that are not in the database yet in a file, one line of JSON each. What is in it
 * survives `kill -9` and running out of memory: `importJournals` reads it at the next start.
 *
 * All lines of one turn of the event loop are appended with one write, at its end. If only one call is open,
 * its line is written at once, since waiting would cost it another turn. Nothing is synced to the disk: a
 * power cut may lose the last seconds, as it may with the database.
 */

import { closeSync, fstatSync, futimesSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { createDirectory } from '../stores/sqlite/database-file.ts'
import { isList, property } from '../json/guards.ts'
import { minValues, printCompact, rowOfValues } from '../stores/compact-values.ts'
import { readBegunRow } from './begun-row.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Lines of one write: half a megabyte. */
const linesPerWrite = 1000
/** After a failure every further write would cost time and fail as well. */
const retryMs = 100

export class Journal {
  readonly path: string
  #file: number | undefined
  /** Lines that are not in the file yet. */
  #lines: string[] = []
  #appended: Promise<void> | undefined
  #error: unknown
  #failedMs = -Infinity
  #lastLineIncomplete = false
  #size = 0

  /** @param path of a file that is made with the first line */
  constructor (path: string) {
    this.path = path
  }

  /**
   * Returns the error of the last write, when it failed. Its lines are tried again with those that follow.
   */
  get error (): unknown {
    return this.#error
  }

  /** Lines that are not in the file. */
  get unwritten (): number {
    return this.#lines.length
  }

  /** Bytes of the file. */
  get size (): number {
    return this.#size
  }

  /** Appends a line at the end of this turn of the event loop; resolves when that is done or has failed. */
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
   * Appends a line at once if no other line of this turn waits; otherwise as `append` does.
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
    if (performance.now() - this.#failedMs > retryMs) this.flush()
  }

  /** Appends now what is not in the file. */
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

  /** Replaces all content. Until the new file is complete the old one stays, and is written to. */
  replace (lines: readonly string[]): void {
    const [old, torn, size] = [this.#file, this.#lastLineIncomplete, this.#size]
    this.#lines = [...lines]
    this.#size = 0
    this.#lastLineIncomplete = false
    try {
      if (lines.length === 0) rmSync(this.path, { force: true })
      this.#file = lines.length === 0 ? undefined : this.#replaceFile()
      this.#error = undefined
      if (old !== undefined) closeSync(old)
    } catch (error) {
      this.#lines = [...lines]
      this.#file = old
      this.#lastLineIncomplete = torn
      this.#size = size
      this.#failed(error)
    }
  }

  /** Returns true when the file was deleted: what is appended to it now is lost with the process. */
  isDeleted (): boolean {
    return this.#file !== undefined && fstatSync(this.#file).nlink === 0
  }

  /** Shows by the time of its last change that the process that writes the file is alive. */
  touch (): void {
    const now = new Date()
    if (this.#file !== undefined) futimesSync(this.#file, now, now)
  }

  /** Ends writing, and moves the file to a path that says that it is complete. */
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
    this.#failedMs = performance.now()
  }

  /** Writes all lines to another file, and puts it in the place of this one. */
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

  /** Writes some lines and takes them from those that are not in the file, if they are complete. */
  #write (file: number): void {
    const lines = this.#lines.slice(0, linesPerWrite)
    // A line that a full disk cut off ends here; readers skip it.
    const bytes = Buffer.from(`${this.#lastLineIncomplete ? '\n' : ''}${lines.join('\n')}\n`)
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(file, bytes, written)
    } finally {
      const complete =
        written === bytes.length
          ? lines.length
          : linesIn(bytes.subarray(0, written)) - Number(this.#lastLineIncomplete && written > 0)
      this.#lines.splice(0, complete)
      this.#size += written
      if (written > 0) this.#lastLineIncomplete = bytes[written - 1] !== newline
    }
  }
}

const newline = 0x0a

function openNew (path: string): number {
  try {
    return openSync(path, 'a', 0o600)
  } catch (error) {
    if (property(error, 'code') !== 'ENOENT') throw error
    createDirectory(dirname(path)) // it was deleted
    return openSync(path, 'a', 0o600)
  }
}

function linesIn (bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte === newline) count++
  return count
}

/**
 * Prints the line of a complete row; that of a call that has begun is printed with it (`usage/begun-row`).
 */
export function printLine (row: UsageRow): string {
  return printCompact(row) ?? JSON.stringify(row)
}

/** Returns the row of a line; `undefined` for one that was cut off. */
export function readLine (line: string): UsageRow | undefined {
  try {
    const row = JSON.parse(line) as UsageRow | readonly unknown[] // written by us
    if (!isList(row)) return row
    return row.length >= minValues ? rowOfValues(row) : readBegunRow(row)
  } catch {
    return undefined
  }
}
