/** Names of processes: they show other processes, in a shared file or folder, whether one still lives. */

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { isProcessAlive } from './is-process-alive.ts'

/**
 * Process ids mean something on their own machine, or in their own container, only. Several containers may
 * have one host name, and in each of them the first process has the id 1.
 */
const host = createHash('sha256')
  .update([hostname(), ...containerOf(mounts())].join('\0'))
  .digest('hex')
  .slice(0, 12)
const form = /^([0-9a-f]{12})-(\d+)-[\w-]+$/
const placeDigits = 12
/** The names of this very process: after a restart of a container its id may be the same as before. */
const own = new Set<string>()

/** Returns the mounts of this process as Linux lists them; no text elsewhere. */
function mounts (): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

/**
 * Returns what is mounted at `/etc/hosts`: the file that Docker, Podman and Kubernetes make for each
 * container or pod, whose path has its id, which a restart does not change. Empty outside of them.
 *
 * @param mounts lines of which the fourth field is the path that is mounted and the fifth the one where it is
 *   seen: https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
 */
export function containerOf (mounts: string): string[] {
  return mounts
    .split('\n')
    .map(line => line.split(' '))
    .filter(fields => fields[4] === '/etc/hosts')
    .map(fields => fields[3] ?? '')
}

/**
 * Returns a new name for this process.
 *
 * @param directory where it keeps what it has not stored yet, for `worksIn`. Default: the name does not say
 */
export function processName (directory?: string): string {
  const random = randomBytes(9).toString('base64url')
  const name = `${host}-${process.pid}-${random}${directory === undefined ? '' : `-${digestOf(directory)}`}`
  own.add(name)
  return name
}

/** Returns true for the name of a process that was given this directory on this machine. */
export function worksIn (name: string, directory: string): boolean {
  return name.startsWith(`${host}-`) && name.endsWith(`-${digestOf(directory)}`)
}

function digestOf (directory: string): string {
  return createHash('sha256').update(realpathSync(directory)).digest('hex').slice(0, placeDigits)
}

/**
 * `unknown`: of another machine, or a name that was not made here. The id of a `running` one may be another's
 * by now.
 */
export type ProcessState = 'own' | 'running' | 'exited' | 'unknown'

/** Returns what is known of the process of a name. */
export function processState (name: string): ProcessState {
  if (own.has(name)) return 'own'
  const [, onHost, pid = ''] = form.exec(name) ?? []
  if (onHost !== host) return 'unknown'
  return Number(pid) === process.pid || !isProcessAlive(Number(pid)) || isZombie(pid) ? 'exited' : 'running'
}

/**
 * Returns true for a process that runs, or is stopped, and did so at that moment; false where the system does
 * not say: another may have its id by now.
 */
export function hasRunSince (name: string, ms: number): boolean {
  const startMs = processState(name) === 'running' ? processStartMs(name) : undefined
  return startMs !== undefined && startMs <= ms
}

/**
 * Returns when the process that has the id of a name now was started; `undefined` where the system does not
 * say.
 */
export function processStartMs (name: string): number | undefined {
  try {
    const ticks = statOf(form.exec(name)?.[2])[19]
    const boot = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]
    return Number(boot) * 1000 + Number(ticks) * 1000 / ticksPerSecond
  } catch {
    return undefined
  }
}

/** The unit of times in `/proc`, the same on every architecture of today. */
const ticksPerSecond = 100

/**
 * Returns true for a process that has exited and that its parent has not waited for, as the first one of a
 * container may never do.
 */
function isZombie (pid: string): boolean {
  try {
    return statOf(pid)[0] === 'Z'
  } catch {
    return false
  }
}

/**
 * Reads the fields behind the name of the program, which may hold anything:
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function statOf (pid: string | undefined): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
}
