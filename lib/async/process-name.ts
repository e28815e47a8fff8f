/**
 * Names of processes. In a shared file or folder, they tell other processes whether the owner is still
 * running.
 */

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { isProcessAlive } from './is-process-alive.ts'

/**
 * A process id is valid only on its own machine or in its own container. Several containers may share a host
 * name, and the first process of each has the id 1.
 */
const host = createHash('sha256')
  .update([hostname(), ...containerOf(mounts())].join('\0'))
  .digest('hex')
  .slice(0, 12)
const form = /^([0-9a-f]{12})-(\d+)-[\w-]+$/
const placeDigits = 12
/** All names given to this process: after a restart, a container may reuse the id. */
const own = new Set<string>()

/** Returns the mounts of this process as Linux lists them; an empty text on other systems. */
function mounts (): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

/**
 * Returns the source of the mount at `/etc/hosts`: Docker, Podman and Kubernetes create this file for each
 * container or pod, and its path contains an id that survives restarts. Empty outside containers.
 *
 * @param mounts lines whose fourth field is the mounted path and whose fifth is the mount point:
 *   https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
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
 * @param directory where the process keeps data not stored yet, for `worksIn`. Default: not part of the name
 */
export function processName (directory?: string): string {
  const random = randomBytes(9).toString('base64url')
  const name = `${host}-${process.pid}-${random}${directory === undefined ? '' : `-${digestOf(directory)}`}`
  own.add(name)
  return name
}

/** Returns true for the name of a process on this machine that was given this directory. */
export function worksIn (name: string, directory: string): boolean {
  return name.startsWith(`${host}-`) && name.endsWith(`-${digestOf(directory)}`)
}

function digestOf (directory: string): string {
  return createHash('sha256').update(realpathSync(directory)).digest('hex').slice(0, placeDigits)
}

/**
 * `unknown`: a process of another machine, or a name not made here. Another process may have taken the id of
 * a `running` one.
 */
export type ProcessState = 'own' | 'running' | 'exited' | 'unknown'

/** Returns the state of the process with a name. */
export function processState (name: string): ProcessState {
  if (own.has(name)) return 'own'
  const [, onHost, pid = ''] = form.exec(name) ?? []
  if (onHost !== host) return 'unknown'
  return Number(pid) === process.pid || !isProcessAlive(Number(pid)) || isZombie(pid) ? 'exited' : 'running'
}

/**
 * Milliseconds of silence after which a process counts as exited if nothing else is known about it, such as
 * one in another container: the longest duration of a call by default.
 */
export const lostAfterMs = 600_000

/**
 * Returns true for a process that exists, even if stopped, and already existed at that moment; false where
 * the system does not tell, since another process may have taken its id.
 */
export function hasRunSince (name: string, ms: number): boolean {
  const startMs = processState(name) === 'running' ? processStartMs(name) : undefined
  return startMs !== undefined && startMs <= ms
}

/**
 * Returns the start time of the process that has the id in a name now; `undefined` where the system does not
 * tell.
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

/** The unit of times in `/proc`, the same on every current architecture. */
const ticksPerSecond = 100

/**
 * Returns true for a zombie: a process that has exited and whose parent has not waited for it, as the first
 * process of a container may never do.
 */
function isZombie (pid: string): boolean {
  try {
    return statOf(pid)[0] === 'Z'
  } catch {
    return false
  }
}

/**
 * Reads the fields after the name of the program, which may contain any characters:
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function statOf (pid: string | undefined): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
}
