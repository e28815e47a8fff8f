/** Records in the data directory where a gateway can be reached, for the commands that print its address. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../json/guards.ts'

const nameIn = (dataDir: string): string => join(dataDir, 'gateway.json')

/**
 * Notes the address of this process.
 *
 * @returns ends the note, unless another gateway has made its own meanwhile
 */
export function noteRunning (dataDir: string, url: string): () => void {
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(nameIn(dataDir), `${JSON.stringify({ pid: process.pid, url })}\n`)
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
    note = JSON.parse(readFileSync(nameIn(dataDir), 'utf8'))
  } catch {
    return undefined // no gateway has run there, or one is writing it now
  }
  if (!isObject(note)) return undefined
  const { pid, url } = note
  return typeof pid === 'number' && typeof url === 'string' ? { pid, url } : undefined
}

/** True for a process that there is; one of another user may not be asked, and says so. */
function isAlive (pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
