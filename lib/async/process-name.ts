/** Names of processes: they show other processes, in a shared file or folder, whether one still lives. */

import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { isProcessAlive } from './is-process-alive.ts'

/** Process ids mean something on their own machine, or in their own container, only. */
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 12)
const form = /^([0-9a-f]{12})-(\d+)-[\w-]+$/
/** The names of this very process: after a restart of a container its id may be the same as before. */
const own = new Set<string>()

/** Returns a new name for this process. */
export function processName (): string {
  const name = `${host}-${process.pid}-${randomBytes(9).toString('base64url')}`
  own.add(name)
  return name
}

/** `unknown`: of another machine, or a name that was not made here. The id of a `running` one may be another's by now. */
export type ProcessState = 'own' | 'running' | 'exited' | 'unknown'

/** Returns what is known of the process of a name. */
export function processState (name: string): ProcessState {
  if (own.has(name)) return 'own'
  const [, onHost, pid] = form.exec(name) ?? []
  if (onHost !== host) return 'unknown'
  return Number(pid) === process.pid || !isProcessAlive(Number(pid)) ? 'exited' : 'running'
}
