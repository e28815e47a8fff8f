/** Records in the data directory where a gateway can be reached, for the commands that print its address. */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../json/type-guards.ts'
import type { Log } from '../log/log.ts'
import { readTextFile } from '../net/read-regular-file.ts'
import { replaceFile } from '../net/replace-file.ts'
import { createDirectory } from '../stores/sqlite/database-file.ts'
import { loggableError } from '../text/describe-error.ts'

const nameIn = (dataDir: string): string => join(dataDir, 'gateway.json')

/**
 * Records the address of this process. A gateway runs even if this fails.
 *
 * @returns a function that removes the record, unless another gateway has replaced it
 */
export function noteRunning (dataDir: string, url: string, log: Pick<Log, 'warn'>): () => void {
  const file = nameIn(dataDir)
  try {
    createDirectory(dataDir)
    replaceFile(file, `${JSON.stringify({ pid: process.pid, url })}\n`, 0o644)
  } catch (error) {
    log.warn(
      { file, cause: loggableError(error) },
      'failed to record the address of the gateway; commands on this machine will not find it'
    )
  }
  return () => { if (noteIn(dataDir)?.pid === process.pid) rmSync(nameIn(dataDir), { force: true }) }
}

/**
 * Returns the address of the gateway that runs on this machine with a data directory; `undefined` if none
 * does.
 */
export function runningAt (dataDir: string): string | undefined {
  const note = noteIn(dataDir)
  return note !== undefined && isAlive(note.pid) ? note.url : undefined
}

interface Note {
  readonly pid: number
  readonly url: string
}

function noteIn (dataDir: string): Note | undefined {
  let note: unknown
  try {
    note = JSON.parse(readTextFile(nameIn(dataDir)))
  } catch {
    return undefined // no gateway has run there, or the file is not such a record
  }
  if (!isObject(note)) return undefined
  const { pid, url } = note
  return typeof pid === 'number' && typeof url === 'string' ? { pid, url } : undefined
}

/**
 * Returns true for an existing process. Signalling a process of another user fails, which also shows that it
 * exists.
 */
function isAlive (pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
