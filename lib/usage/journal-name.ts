/** Names of journals: they say which process writes one, so that another can tell when it is dead. */

import { createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename } from 'node:path'
import { isProcessAlive } from '../async/is-process-alive.ts'

/** Process ids mean something on their own machine, or in their own container, only. */
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 12)
const open = /^journal-([0-9a-f]{12})-(\d+)-[\w-]+\.jsonl$/
const complete = /^usage-[\w-]+\.jsonl$/
/** The journals of this very process: after a restart of a container its id may be the same as before. */
const own = new Set<string>()
/** A live process shows itself every few seconds, see `Journal.touch`. */
const deadAfterMs = 60_000

/** Returns the name of a new journal of this process. */
export function journalName (): string {
  const name = `journal-${host}-${process.pid}-${randomBytes(9).toString('base64url')}.jsonl`
  own.add(name)
  return name
}

/** Returns the name of a journal that is complete: any process may import it. */
export function finishedJournalName (): string {
  return `usage-${randomBytes(9).toString('base64url')}.jsonl`
}

/** Returns true for a journal that no process writes to any more. */
export function isAbandoned (path: string): boolean {
  const name = basename(path)
  if (complete.test(name)) return true
  const [, onHost, pid] = open.exec(name) ?? []
  if (onHost === undefined || own.has(name)) return false
  if (onHost === host && (Number(pid) === process.pid || !isProcessAlive(Number(pid)))) return true
  const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  return changedMs !== undefined && Date.now() - changedMs > deadAfterMs
}
