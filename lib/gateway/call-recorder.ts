/**
 * Records each call: its usage row, its log line, soft budgets that it exceeded, and the bodies that its
 * project stores. Then the mirror of the call starts.
 */

import { BudgetWarnings } from '../limits/budget-warnings.ts'
import { recordedUsages } from '../limits/reservation.ts'
import { UsageRecorder } from './usage-recorder.ts'
import { CallBodyStore } from '../stores/call-body-store.ts'
import { logCall } from '../telemetry/call-log.ts'
import { loggableError } from '../text/describe-error.ts'
import { Ledger } from '../usage/ledger.ts'
import type { BodyRecorder } from '../bodies/body-recorder.ts'
import type { Call, JournalAnswer, JournalSent } from '../core/call.ts'
import type { Settings } from '../core/settings.ts'
import type { Keys } from '../keys/keys.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Log } from '../log/log.ts'
import type { Services } from '../services.ts'
import type { Database } from '../stores/database.ts'
import type { UsageRow } from '../stores/tables.ts'

/**
 * Receives each call once its answer is written or cut off and its record is complete. Calls without a
 * valid key have no usage row, nor do `/health` probes and keys that ask about themselves.
 */
export type CallObserver = (call: Call, row?: UsageRow) => void

export interface CallRecorderOptions {
  readonly keys: Keys
  readonly limiter: Limiter
  readonly log: Log
  /** The store for bodies. Default: bodies are not stored. */
  readonly database: Database | undefined
  /** The store for usage rows. Default: rows are not stored. */
  readonly usageDatabase: Database | undefined
  readonly observers: readonly CallObserver[]
  /** Receives the rows of calls interrupted by a crash. Default: they are only stored. */
  readonly onInterrupted?: ((rows: readonly UsageRow[]) => void) | undefined
  /** Returns the services for new calls. */
  readonly services: () => Services
}

/**
 * The records of a gateway. `journalAnswer` is called while a call is answered, `end` once it has ended; rows
 * are stored later.
 */
export class CallRecorder {
  /** Journals a call whose request has been sent to a provider. */
  readonly journalSent: JournalSent
  /** Absent without a store for usage rows. */
  readonly ledger: Ledger | undefined
  /** Resolves at the end of the first import and never rejects; `undefined` once it is over. */
  importing: Promise<void> | undefined
  readonly #options: CallRecorderOptions
  readonly #recorder: UsageRecorder
  readonly #bodyStore: CallBodyStore | undefined
  readonly #warnings: BudgetWarnings
  #bodyRecorder: BodyRecorder | undefined

  constructor (options: CallRecorderOptions) {
    const { limiter, log, database, usageDatabase, onInterrupted, services } = options
    this.#options = options
    this.#warnings = new BudgetWarnings(log)
    this.ledger = usageDatabase && new Ledger(usageDatabase, {
      log,
      retention: () => services().settings.usage,
      beforeStored: async imported => {
        await this.#settle(imported)
        if (onInterrupted !== undefined) await this.#reportInterrupted(imported, usageDatabase, onInterrupted)
      }
    })
    this.#recorder = new UsageRecorder({ ledger: this.ledger, limiter, services })
    this.journalSent = this.#recorder.journalSent
    this.#bodyStore = database && new CallBodyStore(database)
  }

  /**
   * Settles the reservations of killed processes from their usage rows, and waits for pending settlements
   * here, before rows count as spent.
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
        'failed to settle the reservations of a killed process; they are released later'
      )
    })
  }

  /**
   * Reports imported rows of interrupted calls that are not in the store: a journal may contain the begun row
   * of a call whose final row is stored.
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
      this.#options.log.warn({
        cause: loggableError(error)
      }, 'failed to look up interrupted calls; their spans are not sent')
    }
  }

  /** Returns the recorder of bodies; loaded on demand. */
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

  /** Also notes which provider made the tool calls. */
  readonly journalAnswer: JournalAnswer = call => {
    const { tools: { callIds }, routing: { providerId } } = call.record
    if (callIds !== undefined && providerId !== undefined) {
      this.#options.services().routingState.toolCalls.note(callIds, providerId)
    }
    return this.#recorder.journalAnswer(call)
  }

  /**
   * Completes the record of an ended call, and starts its mirror. An observer that throws does not affect
   * the others.
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
    const { limits: { exceededBudgets } } = call.record
    if (exceededBudgets !== undefined) safely(() => this.#warnings.note(call, exceededBudgets))
    for (const observe of observers) safely(() => observe(call, row))
    const { end: { onRecorded } } = call.record
    if (onRecorded !== undefined) safely(onRecorded)
  }

  /** Completes the record of a detached call, before anyone can fetch its answer. */
  readonly endDetached = (call: Call): void => {
    this.end(call)
    this.ledger?.flushJournal()
  }

  /** Starts importing the journals of exited processes. */
  importJournals (): void {
    this.importing = this.ledger?.importJournals().finally(() => { this.importing = undefined })
  }

  get load (): { rowsWaiting: number, rowsDropped: number, bodiesDropped: number } {
    return {
      rowsWaiting: this.ledger?.waiting ?? 0,
      rowsDropped: this.ledger?.dropped ?? 0,
      bodiesDropped: this.#bodyRecorder?.dropped ?? 0
    }
  }

  /** Deletes expired bodies. @throws errors of the store */
  async expire (nowMs: number): Promise<void> {
    await this.#bodyStore?.expire(nowMs, this.#options.services().settings.usage.keepDays)
  }

  /** Stores everything pending. */
  async close (): Promise<void> {
    await this.#bodyRecorder?.close()
    await this.ledger?.close()
  }
}
