/** Forks the workers, replaces those that exit or hang, and stops them in time. */

import { nonEmptyText, property } from '../json/guards.ts'
import cluster, { type Worker } from 'node:cluster'
import type { Address } from '../http/listen.ts'
import type { ServerSettings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import { ignoreClosedChannel, sendMessage } from '../async/ipc.ts'
import { Heartbeats } from './heartbeats.ts'
import { allowListening } from './wait-to-listen.ts'
import { stopSignal } from './signals.ts'
import { v8Flag } from './v8-flag.ts'
import { stopMessage } from './worker.ts'

/**
 * Workers that exit sooner than this are restarted after a wait that doubles each time, up to the maximum.
 */
const minHealthyUptimeMs = 10_000
const initialRestartMs = 100
const maxRestartMs = 30_000
/** The time a worker may take to stop beyond its delay and its drain, before it is killed. */
export const stopGraceMs = 1350

/**
 * Workers accept connections themselves. A primary that accepts and hands them over keeps those that it gave
 * to a worker that has just been killed: their callers would never get an answer.
 */
const acceptInWorkers = cluster.SCHED_NONE

export interface WorkerEvents {
  /** Called for each new worker. */
  readonly onFork: (worker: Worker) => void
  /** Called with the address once all workers listen. */
  readonly onReady: (address: Address) => void
  /** Called when the first workers cannot start; all have been ended. */
  readonly onFailure: (reason: string) => void
  /** Called when all have ended after a signal. */
  readonly onEnd: () => void
}

type WorkerSettings = Pick<ServerSettings, 'workers' | 'shutdownDelayMs' | 'drainMs' | 'workerTimeoutMs'>

export function startWorkers (
  settings: WorkerSettings,
  log: Log,
  { onFork, onReady, onFailure, onEnd }: WorkerEvents
): void {
  const { workers: count, shutdownDelayMs, drainMs, workerTimeoutMs } = settings
  const serving = new Set<Worker>()
  /** Known once the first worker listens. */
  let address: Address | undefined
  /** The port to keep, once all workers were down: `server.port: 0` would give them another one. */
  let port: number | undefined
  let complete = false
  let stopping = false
  let waitMs = initialRestartMs

  const heartbeats = new Heartbeats<Worker>(workerTimeoutMs, worker => {
    log.error({ pid: worker.process.pid, silent_ms: workerTimeoutMs }, 'worker not responding; killing it')
    worker.process.kill('SIGKILL')
  })
  const abort = (reason: string): void => {
    stopping = true
    killWorkers()
    onFailure(reason)
  }
  const fork = (): void => {
    const startedMs = performance.now()
    const worker = cluster.fork()
    ignoreClosedChannel(worker)
    onFork(worker)
    allowListening(worker, () => port)
    worker.on('message', (message: unknown) => {
      heartbeats.beat(worker)
      const failure = failureIn(message)
      if (failure === undefined) return
      if (!complete) abort(failure)
      else log.error({ pid: worker.process.pid, failure }, 'worker failed to start')
    })
    worker.once('listening', (at: { address: string | null, port: number }) => {
      address ??= { host: at.address ?? '::', port: at.port }
      serving.add(worker)
      heartbeats.watch(worker)
      if (complete || serving.size < count) return
      complete = true
      onReady(address)
    })
    worker.once('exit', (code, signal) => {
      serving.delete(worker)
      heartbeats.forget(worker)
      if (stopping) {
        if (workers().length === 0) onEnd()
        return
      }
      if (!complete) {
        abort(`a worker exited while starting (${signal ?? `exit code ${code}`})`)
        return
      }
      waitMs =
        performance.now() - startedMs > minHealthyUptimeMs
          ? initialRestartMs
          : Math.min(waitMs * 2, maxRestartMs)
      log.error({ pid: worker.process.pid, code, signal, restart_ms: waitMs }, 'worker exited; restarting')
      setTimeout(() => { if (!stopping) fork() }, waitMs)
      if (serving.size === 0) port = address?.port
    })
  }

  const stop = (): void => {
    if (stopping) return // the start has failed
    stopping = true
    heartbeats.stop()
    log.info('draining open calls; signal again to exit immediately')
    for (const worker of workers()) {
      // A worker that is still starting has nothing to drain and does not listen yet.
      if (serving.has(worker)) sendMessage(worker, stopMessage)
      else worker.process.kill('SIGKILL')
    }
    if (workers().length === 0) onEnd()
    setTimeout(
      () => {
        log.error(
          { pids: workers().map(worker => worker.process.pid) },
          'workers did not stop in time; killing them'
        )
        killWorkers()
      },
      shutdownDelayMs + drainMs + stopGraceMs
    ).unref()
  }
  cluster.schedulingPolicy = acceptInWorkers
  void stopSignal(killWorkers).then(stop)
  process.on('SIGHUP', () => { for (const worker of serving) worker.process.kill('SIGHUP') })
  cluster.setupPrimary({ execArgv: [...process.execArgv, v8Flag] })
  for (let number = 0; number < count; number++) fork()
}

/**
 * Returns the workers that have not exited. `cluster.workers` still holds one that has, until its IPC channel
 * has closed as well, and a stop that waits for it would not end.
 */
function workers (): Worker[] {
  // undefined is not
  return Object.values(cluster.workers ?? {}).filter(worker => worker?.isDead() === false) as Worker[]
}

function killWorkers (): void {
  for (const worker of workers()) worker.process.kill('SIGKILL')
}

function failureIn (message: unknown): string | undefined {
  return nonEmptyText(property(message, 'failure'))
}
