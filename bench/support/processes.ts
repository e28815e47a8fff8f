/** Starts the processes of a benchmark, each on its core. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Started {
  readonly pid: number
  readonly process: ChildProcess
  /** Milliseconds from its start to its first answer with status 200. */
  readonly readyMs: number
  readonly stop: () => Promise<void>
}

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** CPU cores it may run on; any if `taskset` is missing. */
  readonly cores: readonly number[]
  /** The file for standard output and errors. */
  readonly output?: string
  /** Longest time to its first answer. Default: 20 s. */
  readonly maxStartMs?: number
  /** True to exchange messages with it. */
  readonly messages?: boolean
}

const lastCore = availableParallelism() - 1

/** The gateway has its own core; mock and callers share the others, starting from the last. */
export const cores = {
  gateway: [0],
  twoGateways: lastCore > 1 ? [0, 1] : [0, lastCore],
  mock: [lastCore],
  load: [lastCore > 2 ? lastCore - 1 : lastCore]
} as const

const pinned = spawnSync('taskset', ['--version']).status === 0

const children = new Set<ChildProcess>()

// No child outlives this process, however it ends.
process.once('exit', () => { for (const child of children) child.kill('SIGKILL') })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** @param ready polled until it returns true */
export async function start (command: Command, ready: () => Promise<boolean>): Promise<Started> {
  const { file, args, env, output = '/dev/null', maxStartMs = 60_000, messages = false } = command
  const pin = pinned ? ['taskset', '-c', command.cores.join(',')] : []
  const [run = file, ...rest] = [...pin, file, ...args]
  const log = openSync(output, 'a')
  const startMs = performance.now()
  const child = spawn(run, rest, {
    stdio: messages ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
    env: { ...process.env, ...env }
  })
  children.add(child)
  child.once('exit', () => children.delete(child))
  await once(child, 'spawn')
  while (!await ready()) {
    if (child.exitCode !== null || performance.now() - startMs > maxStartMs) {
      child.kill('SIGKILL')
      throw new Error(
        `${file} ${args.join(' ')} did not start:\n${readFileSync(output, 'utf8').slice(-2000)}`
      )
    }
    await sleep(2)
  }
  return {
    pid: child.pid ?? 0,
    process: child,
    readyMs: performance.now() - startMs,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      const timer = setTimeout(() => child.kill('SIGKILL'), 3000)
      child.kill('SIGTERM')
      await exit
      clearTimeout(timer)
    }
  }
}

/** Returns how many files a child process may have open. */
export function maxOpenFiles (): number {
  const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
  return limit === undefined ? Infinity : Number(limit)
}

const givenPorts = new Set<number>()

/**
 * Returns a port that nothing listens on, a different one each time: the system may reuse one as soon as it
 * is closed.
 */
export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP, so it is one
  server.close()
  await once(server, 'close')
  if (givenPorts.has(port)) return await freePort()
  givenPorts.add(port)
  return port
}
