/** Names of processes: they show other processes, in a shared file or folder, whether one still lives. */

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
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

/** Returns when the process that has the id of a name now was started; `undefined` where the system does not say. */
export function processStartMs (name: string): number | undefined {
  const pid = form.exec(name)?.[2]
  try {
    // Behind the name of the program, which may hold anything: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
    const boot = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]
    return Number(boot) * 1000 + Number(fields?.[19]) * 1000 / ticksPerSecond
  } catch {
    return undefined
  }
}

/** The unit of times in `/proc`, the same on every architecture of today. */
const ticksPerSecond = 100
