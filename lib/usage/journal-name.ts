/** Names of journals: they say which process writes one, so that another can see when it is dead. */

import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { hasRunSince, processName, processState } from '../async/process-name.ts'

const open = /^journal-([0-9a-f]{12}-\d+-[\w-]+)\.jsonl$/
const complete = /^usage-[\w-]+\.jsonl$/
/** A live process shows itself every second, see `Journal.touch`. One that is stopped does not. */
const deadAfterMs = 60_000

/** Returns the name of a new journal of this process. */
export function journalName (): string {
  return `journal-${processName()}.jsonl`
}

/** Returns the name of a journal that is complete: any process may import it. */
export function finishedJournalName (): string {
  return `usage-${randomBytes(9).toString('base64url')}.jsonl`
}

/** Returns true for a journal that no process writes to any more. */
export function isAbandoned (path: string): boolean {
  const name = basename(path)
  if (complete.test(name)) return true
  const writer = open.exec(name)?.[1]
  if (writer === undefined) return false
  const state = processState(writer)
  if (state === 'own' || state === 'exited') return state === 'exited'
  const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  return changedMs !== undefined && Date.now() - changedMs > deadAfterMs && !hasRunSince(writer, changedMs)
}

/**
 * Returns true while a folder has records of processes that have exited and that no other process has stored
 * yet.
 */
export function hasAbandonedJournal (directory: string): boolean {
  return readdirSync(directory).some(name => {
    const path = join(directory, name)
    return (
      name.endsWith('.jsonl') &&
      isAbandoned(path) &&
      (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
    )
  })
}
