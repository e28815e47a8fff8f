import { nonEmptyText, property } from '../json/type-guards.ts'
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
 * Workers that exit sooner than this are restarted after a delay that doubles each time, up to the maximum.
 */
const minHealthyUptimeMs = 10_000
const initialRestartMs = 100
const maxRestartMs = 30_000
/** How long a worker may take to stop beyond its delay and its drain, before it is killed. */
export const stopGraceMs = 1350

/**
 * Workers accept connections themselves. A primary that accepts and distributes them retains those handed to
 * a worker that has just been killed: their callers would never get an answer.
 */
const acceptInWorkers = cluster.SCHED_NONE

export interface WorkerEvents {
  /** Called for each new worker. */
  readonly onFork: (worker: Worker) => void
  /** Called with the address once all workers listen. */
  readonly onReady: (address: Address) => void
  /** Called when the first workers cannot start; all have been stopped. */
  readonly onFailure: (reason: string) => void
  /** Called when all have stopped after a signal. */
  readonly onEnd: () => void
}

type WorkerSettings = Pick<ServerSettings, 'workers' | 'shutdownDelayMs' | 'drainMs' | 'workerTimeoutMs'>

/** Starts workers, replaces those that exit or hang, and stops all of them after a signal. */
export function startWorkers (settings: WorkerSettings, log: Log, events: WorkerEvents): void {
  const pool = new WorkerPool(settings, log, events)
  cluster.schedulingPolicy = acceptInWorkers
  void stopSignal(killWorkers).then(() => pool.stop())
  process.on('SIGHUP', () => pool.hangUp())
  cluster.setupPrimary({ execArgv: [...process.execArgv, v8Flag] })
  pool.start()
}

class WorkerPool {
  readonly #settings: WorkerSettings
  readonly #log: Log
  readonly #events: WorkerEvents
  readonly #heartbeats: Heartbeats<Worker>
  readonly #serving = new Set<Worker>()
  /** Known once the first worker listens. */
  #address: Address | undefined
  /** The port to keep after all workers were down: `server.port: 0` would give them another one. */
  #port: number | undefined
  #isComplete = false
  #isStopping = false
  #waitMs = initialRestartMs

  constructor (settings: WorkerSettings, log: Log, events: WorkerEvents) {
    this.#settings = settings
    this.#log = log
    this.#events = events
    const { workerTimeoutMs } = settings
    this.#heartbeats = new Heartbeats<Worker>(workerTimeoutMs, worker => {
      log.error({ pid: worker.process.pid, silent_ms: workerTimeoutMs }, 'worker not responding; killing it')
      worker.process.kill('SIGKILL')
    })
  }

  start (): void {
    for (let number = 0; number < this.#settings.workers; number++) this.#fork()
  }

  hangUp (): void {
    for (const worker of this.#serving) worker.process.kill('SIGHUP')
  }

  stop (): void {
    if (this.#isStopping) return // the start has failed
    this.#isStopping = true
    this.#heartbeats.stop()
    this.#log.info('draining open calls; signal again to exit immediately')
    for (const worker of workers()) {
      // A worker that is still starting has nothing to drain and is not listening yet.
      if (this.#serving.has(worker)) sendMessage(worker, stopMessage)
      else worker.process.kill('SIGKILL')
    }
    if (workers().length === 0) this.#events.onEnd()
    const { shutdownDelayMs, drainMs } = this.#settings
    setTimeout(() => this.#killLate(), shutdownDelayMs + drainMs + stopGraceMs).unref()
  }

  #killLate (): void {
    const pids = workers().map(worker => worker.process.pid)
    this.#log.error({ pids }, 'workers did not stop in time; killing them')
    killWorkers()
  }

  #fork (): void {
    const startedMs = performance.now()
    const worker = cluster.fork()
    ignoreClosedChannel(worker)
    this.#events.onFork(worker)
    allowListening(worker, () => this.#port)
    worker.on('message', (message: unknown) => this.#onMessage(worker, message))
    worker.once('listening', (at: { address: string | null, port: number }) => this.#onListening(worker, at))
    worker.once('exit', (code, signal) => this.#onExit(worker, startedMs, code, signal))
  }

  #onMessage (worker: Worker, message: unknown): void {
    this.#heartbeats.beat(worker)
    const failure = failureIn(message)
    if (failure === undefined) return
    if (!this.#isComplete) this.#abort(failure)
    else this.#log.error({ pid: worker.process.pid, failure }, 'worker failed to start')
  }

  #onListening (worker: Worker, at: { address: string | null, port: number }): void {
    this.#address ??= { host: at.address ?? '::', port: at.port }
    this.#serving.add(worker)
    this.#heartbeats.watch(worker)
    if (this.#isComplete || this.#serving.size < this.#settings.workers) return
    this.#isComplete = true
    this.#events.onReady(this.#address)
  }

  #onExit (worker: Worker, startedMs: number, code: number, signal: string): void {
    this.#serving.delete(worker)
    this.#heartbeats.forget(worker)
    if (this.#isStopping) {
      if (workers().length === 0) this.#events.onEnd()
      return
    }
    if (!this.#isComplete) {
      this.#abort(`a worker exited while starting (${signal ?? `exit code ${code}`})`)
      return
    }
    this.#waitMs =
      performance.now() - startedMs > minHealthyUptimeMs
        ? initialRestartMs
        : Math.min(this.#waitMs * 2, maxRestartMs)
    this.#log.error(
      { pid: worker.process.pid, code, signal, restart_ms: this.#waitMs },
      'worker exited; restarting'
    )
    setTimeout(() => { if (!this.#isStopping) this.#fork() }, this.#waitMs)
    if (this.#serving.size === 0) this.#port = this.#address?.port
  }

  #abort (reason: string): void {
    this.#isStopping = true
    killWorkers()
    this.#events.onFailure(reason)
  }
}

/**
 * Returns the workers that have not exited. `cluster.workers` still lists one that has exited until its IPC
 * channel has closed, and a stop that waits for it would not end.
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
