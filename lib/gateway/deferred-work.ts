/**
 * Stores and runs work whose result callers fetch later: deferred completions, stored and background
 * responses.
 */

import { deferredChat } from '../../pipelines/chat.ts'
import { createTaskAnswerer } from '../deferred/answer-task.ts'
import { BackgroundRuns } from '../deferred/background-runs.ts'
import { openDeferrals, type Deferrals } from '../deferred/deferrals.ts'
import { TaskRunner } from '../deferred/task-runner.ts'
import { ResponseStore, type ResponseStoreOptions } from '../stores/response-store.ts'
import { loggableError } from '../text/describe-error.ts'
import type { Settings } from '../core/settings.ts'
import type { CallListener } from '../deferred/run-detached.ts'
import type { Log } from '../log/log.ts'
import type { Services } from '../services.ts'
import type { Database } from '../stores/database.ts'

export interface DeferredWorkOptions {
  /** Receives detached calls. */
  readonly events: CallListener
  readonly log: Log
  /** Notifies other gateways of waiting deferred calls. */
  readonly onWaiting?: (() => void) | undefined
  /** Returns the services for new calls. */
  readonly services: () => Services
}

export class DeferredWork {
  readonly deferrals: Deferrals
  readonly responseStore: ResponseStore
  readonly backgroundRuns: BackgroundRuns
  readonly #tasks: TaskRunner

  private constructor (
    database: Database,
    deferrals: Deferrals,
    { events, log, onWaiting, services }: DeferredWorkOptions
  ) {
    this.deferrals = deferrals
    this.responseStore = new ResponseStore(database, () => storeOptions(services().settings))
    this.backgroundRuns = new BackgroundRuns(this.responseStore, {
      events,
      maxRunning: () => services().settings.deferred.maxPending,
      onFailure: error =>
        log.error({ cause: loggableError(error) }, 'failed to run or store a background response')
    })
    this.#tasks = new TaskRunner(deferrals, {
      run: async (task, signal) =>
        await createTaskAnswerer(services(), deferredChat(services()), events)(task, signal),
      keepMs: () => services().settings.deferred.keepMs,
      onFailure: error =>
        log.error({ cause: loggableError(error) }, 'failed to run or store a deferred completion'),
      ...onWaiting !== undefined && { onWaiting }
    })
  }

  /** @throws errors of the store */
  static async open (database: Database, options: DeferredWorkOptions): Promise<DeferredWork> {
    return new DeferredWork(database, await openDeferrals(database), options)
  }

  /** Starts waiting work, including that of exited processes. */
  start (): void {
    this.#tasks.start()
    this.backgroundRuns.start()
  }

  /** Checks for deferred calls waiting at other gateways. */
  poll (): void {
    this.#tasks.poll()
  }

  /** Resolves when nothing is running. */
  async whenIdle (): Promise<void> {
    await Promise.all([this.#tasks.whenIdle(), this.backgroundRuns.whenIdle()])
  }

  async stop (): Promise<void> {
    await this.#tasks.stop()
    await this.backgroundRuns.stop()
  }
}

function storeOptions ({
  responses: { store, keepMs, maxBytesPerKey },
  limits
}: Settings): ResponseStoreOptions {
  return {
    keeps: store, keepMs, maxBytesPerKey,
    maxBodyBytes: limits.storedBodyBytes, maxItems: limits.chatMessages, maxBytes: limits.jsonBodyTotalBytes
  }
}
