/** Names of journals. They identify the writing process, so that others can detect that it has died. */

import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { hasRunSince, processName, processState } from '../async/process-name.ts'

/** Also the unfinished replacement of a journal (`Journal.replace`), left by a process that was killed. */
const open = /^journal-([0-9a-f]{12}-\d+-[\w-]+)\.jsonl(?:\.part)?$/
const complete = /^usage-[\w-]+\.jsonl$/
/** A live process touches its journal every second (`Journal.touch`); a suspended one does not. */
const deadAfterMs = 60_000

export function journalName (): string {
  return `journal-${processName()}.jsonl`
}

/** Returns the name of a complete journal, which any process may import. */
export function finishedJournalName (): string {
  return `usage-${randomBytes(9).toString('base64url')}.jsonl`
}

/** Returns true if the process that wrote a journal is gone. */
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

/** Returns true while a folder has unimported records of processes that have exited. */
export function hasAbandonedJournal (directory: string): boolean {
  return readdirSync(directory).some(name => {
    const path = join(directory, name)
    return isAbandoned(path) && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  })
}
