/**
 * Runs the deferred calls that this gateway answers itself.
 *
 * A task is leased while it runs, and a dead process loses its lease to another one. A task that two
 * processes did not survive fails, since it may have killed them. Closing returns tasks, so the next start
 * continues with them. While the store is unreachable, tasks continue and their answers wait for it: each has
 * been paid for.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { GatewayError } from '../core/errors.ts'
import type { Deferrals } from './deferrals.ts'
import type { LeasedTask, StoredAnswer } from './deferred-store.ts'
import type { Lease } from '../stores/lease.ts'
import { untilStored } from './until-stored.ts'

export interface TaskRunnerOptions {
  /** @throws the signal's reason when it was aborted; every other failure is an answer */
  readonly run: (task: string, signal: AbortSignal) => Promise<StoredAnswer>
  /** How long an answer is kept. */
  readonly keepMs: () => number
  /** Called with failures of the store, which are retried, and of tasks that cannot run at all. */
  readonly onFailure: (error: unknown) => void
  /** Called when tasks may wait that this process does not take, so that others poll immediately. */
  readonly onWaiting?: () => void
  /** Tasks that run at a time. Default 16. */
  readonly parallel?: number
  /** When a lease ends unless it is renewed. Default 30 seconds. */
  readonly leaseMs?: number
}

/** One crash is allowed: it may have had another cause. */
const maxAttempts = 2

export class TaskRunner {
  readonly #deferrals: Deferrals
  readonly #options: Required<TaskRunnerOptions>
  readonly #running = new Map<string, AbortController>()
  readonly #work = new Set<Promise<void>>()
  #polling: Promise<void> | undefined
  #pollAgain = false
  /** True if tasks were added here since the last poll. */
  #added = false
  #timer: NodeJS.Timeout | undefined
  #stopped = false
  /** When the store was last unreachable, by `performance.now()`. */
  #unreachableAtMs = -Infinity

  constructor (deferrals: Deferrals, options: TaskRunnerOptions) {
    this.#deferrals = deferrals
    this.#options = { onWaiting: () => undefined, parallel: 16, leaseMs: 30_000, ...options }
  }

  /** Runs the waiting tasks, now and whenever one is added; polls for those of dead processes. */
  start (): void {
    const { events, store } = this.#deferrals
    events.on('added', this.#pollForAdded).on('cancelled', this.#cancel)
    this.#timer = setInterval(() => {
      store.expire(store.now()).catch(this.#options.onFailure)
      this.poll()
    }, this.#options.leaseMs / 3).unref()
    this.poll()
  }

  /** Returns the running tasks to the store. */
  async stop (): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    this.#deferrals.events.off('added', this.#pollForAdded).off('cancelled', this.#cancel)
    await this.#polling
    const isGivingBack = this.#running.size > 0
    for (const running of this.#running.values()) running.abort(new GatewayError('shutting_down'))
    await Promise.all(this.#work)
    if (isGivingBack) this.#options.onWaiting()
  }

  /** Resolves when the tasks that run now have ended; later ones do not count. */
  async whenIdle (): Promise<void> {
    await Promise.all(this.#work)
  }

  readonly #cancel = (id: string): void => {
    this.#running.get(id)?.abort(new GatewayError('client_closed_request'))
  }

  readonly #pollForAdded = (): void => {
    this.#added = true
    this.poll()
  }

  /** Polls for waiting tasks: one poll at a time, and one more if a task was added in between. */
  poll (): void {
    if (this.#polling !== undefined) {
      this.#pollAgain = true
      return
    }
    const failed = (error: unknown): void => {
      this.#unreachableAtMs = performance.now()
      this.#options.onFailure(error)
    }
    this.#polling = this.#takeAll().catch(failed).finally(() => {
      this.#polling = undefined
      if (!this.#pollAgain) return
      this.#pollAgain = false
      this.poll()
    })
  }

  async #takeAll (): Promise<void> {
    const wereAdded = this.#added
    this.#added = false
    while (!this.#stopped && this.#running.size < this.#options.parallel) {
      const { store } = this.#deferrals
      // Leases may have expired while the store was unreachable: those of tasks that run here, and those of
      // other living processes, which renew them now.
      const mayTakeOver = performance.now() - this.#unreachableAtMs > this.#options.leaseMs
      const task = await store.take(this.#lease(), store.now(), {
        except: [...this.#running.keys()],
        ...!mayTakeOver && { endedByMs: 0 }
      })
      if (task === undefined) return
      const controller = new AbortController()
      this.#running.set(task.id, controller)
      const work = this.#carryOut(task, controller).catch(this.#options.onFailure).finally(() => {
        this.#running.delete(task.id)
        this.#work.delete(work)
        this.poll()
      })
      this.#work.add(work)
      await yieldFairly() // SQLite takes a task without waiting for anything
    }
    if (wereAdded) this.#options.onWaiting() // this process runs its maximum
  }

  async #carryOut ({ id, task, attempts }: LeasedTask, controller: AbortController): Promise<void> {
    const { store, owner } = this.#deferrals
    const { run, onFailure, leaseMs } = this.#options
    const pulse = setInterval(() => {
      store.renew(id, this.#lease()).then(mine => { if (!mine) this.#cancel(id) }, onFailure)
    }, leaseMs / 3)
    try {
      const answer =
        attempts > maxAttempts
          ? failed(givenUp())
          : await run(task, controller.signal).catch((error: unknown) => {
              if (controller.signal.aborted) return undefined
              onFailure(error) // what cannot run now cannot run later
              return failed(new GatewayError('internal_error'))
            })
      if (answer === undefined)
        await store.requeue(id, owner) // a cancelled one no longer exists
      else await this.#finish(id, answer, controller.signal)
    } finally {
      clearInterval(pulse)
    }
  }

  async #finish (id: string, answer: StoredAnswer, signal: AbortSignal): Promise<void> {
    const { store, owner } = this.#deferrals
    const { keepMs, onFailure, leaseMs } = this.#options
    await untilStored(
      async () => await store.finish(id, owner, answer, store.now() + keepMs()),
      { signal, onFailure, leaseMs }
    )
  }

  #lease (): Lease {
    const { owner, store } = this.#deferrals
    return { owner, untilMs: store.now() + this.#options.leaseMs }
  }
}

function failed (error: GatewayError): StoredAnswer {
  return { status: error.status, body: JSON.stringify(error.toBody()) }
}

function givenUp (): GatewayError {
  return new GatewayError('internal_error', {
    message: 'The gateway stopped twice while running this completion and gave up.'
  })
}
