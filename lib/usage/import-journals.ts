/** Stores the rows of journals left behind by earlier processes. */

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { readLine } from './journal.ts'
import { hasCode } from '../text/describe-error.ts'
import { isAbandoned } from './journal-name.ts'
import { linesFromEnd } from './lines-from-end.ts'
import type { Database } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'

export interface ImportEvents {
  /** Called with rows before they are stored. Default: does nothing. */
  readonly beforeStored?: (rows: readonly UsageRow[]) => Promise<void>
  /** Returns true to stop storing rows. Default: never. */
  readonly isStopped?: () => boolean
  readonly onImported: (file: string, rows: number) => void
  readonly onFailure: (file: string, error: unknown) => void
}

/**
 * Writes the rows of journals left behind by earlier processes into the database and deletes the files. Each
 * row is written once, however many processes try at the same time.
 */
export async function importJournals (
  database: Pick<Database, 'directory' | 'insertUsage' | 'maxBatchRows'>,
  events: ImportEvents
): Promise<void> {
  const { directory } = database
  const names = await readdir(directory).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) events.onFailure(directory, error)
    return []
  })
  for (const name of names) {
    const path = join(directory, name)
    try {
      if (isAbandoned(path)) await importJournal(database, path, events)
    } catch (error) {
      events.onFailure(path, error) // the file could not be read
    }
  }
}

const none: ReadonlySet<string> = new Set()

/**
 * Writes the rows of one journal and deletes it. A call may have several lines, and its last one is final, so
 * the file is read backwards. An existing row is replaced only if it is older. Lines cut off by a full disk
 * are skipped.
 *
 * @param leftOut ids of rows that a later journal has too
 * @returns false on failure or if stopped; the file then stays
 */
export async function importJournal (
  database: Pick<Database, 'insertUsage' | 'maxBatchRows'>,
  path: string,
  { beforeStored, isStopped = () => false, onImported, onFailure }: ImportEvents,
  leftOut: ReadonlySet<string> = none
): Promise<boolean> {
  const { insertUsage, maxBatchRows } = database
  const recent = new RecentIds()
  let imported = 0
  try {
    for await (const lines of linesFromEnd(path)) {
      const rows = lines
        .flatMap(line => readLine(line) ?? [])
        .filter(({ id }) => recent.add(id) && !leftOut.has(id))
      for (let at = 0; at < rows.length; at += maxBatchRows) {
        if (isStopped()) return false
        const batch = rows.slice(at, at + maxBatchRows)
        await beforeStored?.(batch)
        const insert = async (): Promise<number> => (isStopped() ? 0 : await insertUsage(batch))
        // Calls with a budget wait for this import: without these rows the ledger would admit too much.
        imported += await retryWhenLocked(insert, Infinity)
        await immediate()
        if (isStopped()) return false
      }
    }
    await rm(path, { force: true })
    if (imported > 0) onImported(path, imported)
    return true
  } catch (error) {
    // Another process of the same gateway may have imported it first.
    if (hasCode(error, 'ENOENT')) return true
    onFailure(path, error)
    return false
  }
}

/** The minimum number of row ids to remember. */
const remembered = 20_000

/**
 * Remembers the latest row ids. Most calls have a begun row shortly before their final one, and a useless
 * insert costs as much as a real one.
 */
class RecentIds {
  #recent = new Set<string>()
  #older: ReadonlySet<string> = new Set()

  /** @returns false if already remembered */
  add (id: string): boolean {
    if (this.#recent.has(id) || this.#older.has(id)) return false
    if (this.#recent.size >= remembered) {
      this.#older = this.#recent
      this.#recent = new Set()
    }
    this.#recent.add(id)
    return true
  }
}
