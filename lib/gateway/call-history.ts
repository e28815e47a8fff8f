/**
 * Keeps what is known of each call: its usage row, its line in the log, and the bodies that its project
 * keeps.
 */

import { BudgetWarnings } from '../limits/budget-warnings.ts'
import { UsageRecorder, recordedUsages } from '../limits/usage-recorder.ts'
import { CallBodyStore } from '../stores/call-body-store.ts'
import { logCall } from '../telemetry/call-log.ts'
import { loggableError } from '../text/describe-error.ts'
import { Ledger } from '../usage/ledger.ts'
import type { BodyRecorder } from '../bodies/body-recorder.ts'
import type { Call, RecordAnswer, RecordSent } from '../core/call.ts'
import type { Settings } from '../core/settings.ts'
import type { Keys } from '../keys/keys.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Log } from '../log/log.ts'
import type { Services } from '../services.ts'
import type { Database } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'

/**
 * Receives a call once its answer is written or given up and its record is complete, with its usage
 * row; there is none for a call without a valid key.
 */
export type CallObserver = (call: Call, row?: UsageRow) => void

export interface CallHistoryOptions {
  readonly keys: Keys
  readonly limiter: Limiter
  readonly log: Log
  /** The store of bodies. Default: none are kept. */
  readonly database: Database | undefined
  /** The store of usage rows. Default: none are kept. */
  readonly usageDatabase: Database | undefined
  readonly observers: readonly CallObserver[]
  /** Receives the rows of calls that were interrupted with their process. Default: they are only stored. */
  readonly onInterrupted?: ((rows: readonly UsageRow[]) => void) | undefined
  /** Returns the services that new calls use. */
  readonly services: () => Services
}

export class CallHistory {
  /** Journals a call whose request has been sent to a provider. */
  readonly recordSent: RecordSent
  readonly #options: CallHistoryOptions
  readonly #ledger: Ledger | undefined
  readonly #recorder: UsageRecorder
  readonly #bodyStore: CallBodyStore | undefined
  readonly #warnings: BudgetWarnings
  #bodyRecorder: BodyRecorder | undefined
  #importing: Promise<void> | undefined

  constructor (options: CallHistoryOptions) {
    const { limiter, log, database, usageDatabase, onInterrupted, services } = options
    this.#options = options
    this.#warnings = new BudgetWarnings(log)
    this.#ledger = usageDatabase && new Ledger(usageDatabase, {
      log,
      retention: () => services().settings.usage,
      beforeStored: async imported => {
        await this.#settle(imported)
        if (onInterrupted !== undefined) await this.#reportInterrupted(imported, usageDatabase, onInterrupted)
      }
    })
    this.#recorder = new UsageRecorder({ ledger: this.#ledger, limiter, services })
    this.recordSent = this.#recorder.recordSent
    this.#bodyStore = database && new CallBodyStore(database)
  }

  /**
   * Settles what killed processes had reserved, by their usage rows, and waits for what was settled here,
   * before rows count as spent.
   */
  async #settle (imported: readonly UsageRow[]): Promise<void> {
    const { keys, limiter, log, services } = this.#options
    const usages = recordedUsages(
      imported,
      id => keys.find?.(id),
      services().settings.limits.defaultKeyLimits,
      services().namedBudgets
    )
    await limiter.settleRecorded(usages).catch((error: unknown) => {
      log.warn(
        { cause: loggableError(error) },
        'failed to settle what a killed process had reserved; it is released later'
      )
    })
  }

  /**
   * Reports imported rows of interrupted calls that the store does not have: a journal may have a row of the
   * beginning of a call whose end is stored.
   */
  async #reportInterrupted (
    imported: readonly UsageRow[],
    { query }: Database,
    report: (rows: readonly UsageRow[]) => void
  ): Promise<void> {
    const interrupted = imported.filter(({ outcome }) => outcome === 'interrupted')
    if (interrupted.length === 0) return
    try {
      const ids = interrupted.map(({ id }) => id)
      const stored = await query.selectFrom('usage').select('id').where('id', 'in', ids).execute()
      const storedIds = new Set(stored.map(({ id }) => id))
      report(interrupted.filter(({ id }) => !storedIds.has(id)))
    } catch (error) {
      this.#options.log.warn({ cause: loggableError(error) }, 'failed to create the spans of interrupted calls')
    }
  }

  /** Returns the recorder of bodies, loaded once a configuration keeps some. */
  async bodyRecorderFor ({ calls }: Settings): Promise<BodyRecorder | undefined> {
    const store = this.#bodyStore
    if (store === undefined || calls.keepBodies.length === 0) return this.#bodyRecorder
    const { BodyRecorder } = await import('../bodies/body-recorder.ts')
    return (this.#bodyRecorder ??= new BodyRecorder(store, {
      maxMemoryBytes: () => this.#options.services().settings.calls.keptMemoryBytes,
      onFailure: error =>
        this.#options.log.error({ cause: loggableError(error) }, 'failed to store the bodies of a call')
    }))
  }

  /** Journals a call before its last byte is sent, which waits for the result. */
  readonly recordAnswer: RecordAnswer = call => {
    const { toolCallIds, providerId } = call.record
    if (toolCallIds !== undefined && providerId !== undefined) {
      this.#options.services().routeHealth.toolCalls.note(toolCallIds, providerId)
    }
    return this.#recorder.recordAnswer(call)
  }

  /**
   * Completes the record of a call that has ended. An observer that fails keeps no other one from the call.
   */
  readonly end = (call: Call): void => {
    const { log, observers } = this.#options
    const safely = <T>(observe: () => T): T | undefined => {
      try {
        return observe()
      } catch (error) {
        log.error({ id: call.id, cause: loggableError(error) }, 'call observer failed')
        return undefined
      }
    }
    const row = safely(() => this.#recorder.end(call))
    safely(() => this.#bodyRecorder?.end(call, row))
    safely(() => logCall(log, call, row, this.#options.services().settings.server))
    const { exceededBudgets } = call.record
    if (exceededBudgets !== undefined) safely(() => this.#warnings.note(call, exceededBudgets))
    for (const observe of observers) safely(() => observe(call, row))
    const { mirrors } = this.#options.services()
    if (mirrors !== undefined) safely(() => mirrors.begin(call, mirrored => this.endDetached(mirrored)))
  }

  /** Completes the record of a call that no caller waits for, before anyone can fetch its answer. */
  endDetached (call: Call): void {
    this.end(call)
    this.#ledger?.flushJournal()
  }

  /** Begins to import the journals of processes that have exited. */
  importJournals (): void {
    this.#importing = this.#ledger?.importJournals().finally(() => { this.#importing = undefined })
  }

  /** The end of that import, which never rejects; `undefined` when it is over. */
  get importing (): Promise<void> | undefined {
    return this.#importing
  }

  /** Begins to sum up the records of a store of an earlier version. */
  sumUp (): void {
    this.#ledger?.sumUp()
  }

  /** True while usage rows cannot be stored. */
  get isDegraded (): boolean {
    return this.#ledger?.degraded === true
  }

  get load (): { rowsWaiting: number, rowsDropped: number, bodiesDropped: number } {
    return {
      rowsWaiting: this.#ledger?.waiting ?? 0,
      rowsDropped: this.#ledger?.dropped ?? 0,
      bodiesDropped: this.#bodyRecorder?.dropped ?? 0
    }
  }

  /** Deletes expired bodies. @throws errors of the store */
  async expire (nowMs: number): Promise<void> {
    await this.#bodyStore?.expire(nowMs, this.#options.services().settings.usage.keepDays)
  }

  /** Stores what is left. */
  async close (): Promise<void> {
    await this.#bodyRecorder?.close()
    await this.#ledger?.close()
  }
}
