/** Stores the rows of journals that earlier processes left behind. */

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { readLine } from './journal.ts'
import { hasCode } from '../text/describe-error.ts'
import { isAbandoned } from './journal-name.ts'
import { linesFromEnd } from './lines-from-end.ts'
import type { Database } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'

export interface ImportEvents {
  /** Called with rows before they are stored. Default: nothing is done before. */
  readonly beforeStored?: (rows: readonly UsageRow[]) => Promise<void>
  /** Returns true when no further rows are to be stored. Default: never. */
  readonly isStopped?: () => boolean
  readonly onImported: (file: string, rows: number) => void
  readonly onFailure: (file: string, error: unknown) => void
}

/**
 * Writes the rows of journals that earlier processes left behind into the database, and deletes those
 * files. Each row is written once, however many processes try at the same time.
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
      events.onFailure(path, error) // it could not be looked at
    }
  }
}

const none: ReadonlySet<string> = new Set()

/**
 * Writes the rows of one journal, and deletes it. A call may have several lines, of which the last is right:
 * the file is read from its end, and a row that is there already stays, unless it is from earlier. A line
 * that a full disk cut off says nothing.
 *
 * @param leftOut ids of rows that another journal has as well, and later
 * @returns false when it could not be done, or was stopped; the file stays then
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
        // Calls with a budget wait for it: they would be admitted by a ledger that lacks these rows.
        imported += await retryWhenLocked(insert, Infinity)
        await nextTurn()
        if (isStopped()) return false
      }
    }
    await rm(path, { force: true })
    if (imported > 0) onImported(path, imported)
    return true
  } catch (error) {
    // Another process of the same gateway may have been faster.
    if (hasCode(error, 'ENOENT')) return true
    onFailure(path, error)
    return false
  }
}

/** Ids of rows that are remembered, at least. */
const remembered = 20_000

/**
 * Remembers the rows that were read last: most calls have a line of their beginning not far from the last
 * one, which says all, and to insert it in vain costs as much as to insert a row.
 */
class RecentIds {
  #recent = new Set<string>()
  #older: ReadonlySet<string> = new Set()

  /** @returns false for one that is remembered already */
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
