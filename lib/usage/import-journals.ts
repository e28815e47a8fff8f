import { readFile, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import { insertUsage } from './insert-usage.ts'
import { isAbandoned } from './journal-name.ts'
import type { Database } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Rows of a step: about a millisecond. */
const stepRows = 200

export interface ImportEvents {
  readonly onImported: (file: string, rows: number) => void
  readonly onFailure: (file: string, error: unknown) => void
}

/**
 * Writes the rows of journals that earlier processes left behind into the database, and deletes those
 * files. Each row is written once, however many processes try at the same time.
 */
export async function importJournals (database: Pick<Database, 'path' | 'write'>, { onImported, onFailure }: ImportEvents): Promise<void> {
  const directory = dirname(database.path)
  const names = await readdir(directory).catch(() => []) // a directory that is gone holds none
  for (const name of names) {
    const path = join(directory, name)
    try {
      if (!isAbandoned(path)) continue
      const rows = readRows(await readFile(path, 'utf8'))
      for (let at = 0; at < rows.length; at += stepRows) {
        await retryWhenLocked(async () => insertUsage(database, rows.slice(at, at + stepRows)))
        await nextTurn()
      }
      await rm(path, { force: true })
      if (rows.length > 0) onImported(path, rows.length)
    } catch (error) {
      // Another process of the same gateway may have been faster.
      if (!isGone(error)) onFailure(path, error)
    }
  }
}

/** A call may have two lines, of which the second is right; a line that a full disk cut off says nothing. */
function readRows (text: string): UsageRow[] {
  const rows = new Map<string, UsageRow>()
  for (const line of text.split('\n')) {
    const row = parseRow(line)
    if (row !== undefined) rows.set(row.id, row)
  }
  return [...rows.values()]
}

function parseRow (line: string): UsageRow | undefined {
  try {
    return JSON.parse(line) as UsageRow // written by us
  } catch {
    return undefined
  }
}

function isGone (error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
