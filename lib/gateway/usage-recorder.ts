/**
 * Writes down what a call uses: in the journal while it is open and before its last byte, and in the store
 * once it has ended, when its reservation is settled too.
 */

import { JournaledCall, type Ledger } from '../usage/ledger.ts'
import { costHeaders } from '../limits/headers.ts'
import { usageRow } from '../usage/usage-row.ts'
import { TimedMember, sharedTimer } from '../async/shared-timer.ts'
import type { Call, JournalSent } from '../core/call.ts'
import type { Limiter } from '../limits/limiter.ts'
import { usedIn } from '../limits/reservation.ts'
import type { PricedModels } from '../core/record.ts'
import type { UsageRow } from '../stores/tables.ts'

export interface UsageRecorderDeps {
  /** Absent without a database; reservations are settled regardless. */
  readonly ledger: Ledger | undefined
  readonly limiter: Limiter
  /** Returns the current services, which price calls that no configuration has admitted. */
  readonly services: () => { readonly models: PricedModels }
}

/** Milliseconds after which an open call is journaled again, with its usage so far. */
const inFlightMs = 150
const interrupted = 'interrupted'

/** Makes the usage rows of calls, for the ledger and for settling reservations. */
export class UsageRecorder {
  readonly #deps: UsageRecorderDeps

  constructor (deps: UsageRecorderDeps) {
    this.#deps = deps
  }

  /**
   * Journals a call as interrupted when its request has been sent to a provider, without waiting for the
   * write. While the call is open it is journaled again with its usage so far: after 0.15, 0.6, 2.4, …
   * seconds.
   *
   * @param isFree true for a request that costs nothing: it is journaled only if it takes long
   */
  readonly journalSent: JournalSent = (call, isFree = false) => {
    const { ledger } = this.#deps
    const { record } = call
    if (ledger === undefined || record.caller.keyId === undefined) return
    if (record.rejournalTimer !== undefined) return
    if (!isFree) this.#journalInterrupted(call, ledger)
    record.rejournalTimer = new RejournalTimer(() => this.#journalInFlight(call, ledger))
  }

  /**
   * Implements `JournalAnswer`, and sets the cost headers of a complete answer. An up-to-date row is not
   * journaled twice.
   */
  journalAnswer (call: Call): Promise<void> | undefined {
    const { ledger } = this.#deps
    const { record } = call
    const showsCost = !record.cost.isHidden && record.request.isStreamed !== true
    if (record.caller.keyId === undefined || (ledger === undefined && !showsCost)) return undefined
    const journaled = journaledCall(call)
    const recorded = journaled !== undefined && isUpToDate(journaled.row, call) ? journaled.row : undefined
    const row = recorded ?? usageRow(call, this.#modelsOf(call), journaled?.row)
    if (row === undefined) return undefined
    if (showsCost) record.cost.headers = costHeaders(row, record.limits.budgetLeftNanoUsd)
    return recorded === undefined ? ledger && journal(call, row, ledger) : journaled?.written
  }

  /** @returns false if the answer is complete or the call is no longer recorded */
  #journalInFlight (call: Call, ledger: Ledger): boolean {
    const journaled = journaledCall(call)
    if (ledger.isClosed || (journaled !== undefined && journaled.row.outcome !== interrupted)) return false
    this.#journalInterrupted(call, ledger)
    return true
  }

  #journalInterrupted (call: Call, ledger: Ledger): void {
    const row = usageRow(call, this.#modelsOf(call), journaledCall(call)?.row, interrupted)
    if (row !== undefined) void journal(call, row, ledger)
  }

  /**
   * Completes the row of an ended call and settles its reservation.
   *
   * @returns the row; `undefined` for calls that have none (see `usageRow`)
   */
  end (call: Call): UsageRow | undefined {
    const { ledger, limiter } = this.#deps
    const { record } = call
    record.rejournalTimer?.stop()
    record.rejournalTimer = ended
    const journaled = journaledCall(call)
    let row: UsageRow | undefined
    try {
      row =
        journaled !== undefined && isUpToDate(journaled.row, call)
          ? journaled.row
          : usageRow(call, this.#modelsOf(call), journaled?.row)
      return row
    } finally {
      // Settle before storing: stored usage must not count in addition to its reservation.
      if (record.limits.reservation !== undefined) {
        limiter.settle(record.limits.reservation, row === undefined
          // The reservation has counted the first request.
          ? { used: { requests: Math.max(0, record.routing.requestCount - 1) } }
          : { used: usedIn(row), row: { id: row.id, atMs: row.at_ms } })
      }
      if (row !== undefined) void ledger?.addEndedCall(row, journaled)
    }
  }

  /** Returns the models whose prices apply: those at the admission of a call, whatever changes later. */
  #modelsOf ({ record }: Call): PricedModels {
    return record.cost.models ?? this.#deps.services().models
  }
}

/** Marks an ended call in `record.rejournalTimer`, so that no new wait begins. */
const ended = { stop: () => {} }

/** Waits until a call must be journaled again. Calls that begin at about the same time share a timer. */
class RejournalTimer extends TimedMember {
  readonly #journalAgain: () => boolean
  #timer = sharedTimer(inFlightMs)
  #dueAfterMs = inFlightMs

  /** Starts the wait. @param journalAgain journals the call; returns whether to wait once more */
  constructor (journalAgain: () => boolean) {
    super()
    this.#journalAgain = journalAgain
    this.#timer.start(this)
  }

  stop (): void {
    this.#timer.stop(this)
  }

  onDue (): void {
    if (!this.#journalAgain()) return
    this.#timer = sharedTimer(3 * this.#dueAfterMs)
    this.#dueAfterMs *= 4
    this.#timer.start(this)
  }
}

/** True if an answered call's journaled row is still correct. */
function isUpToDate (
  row: UsageRow,
  { record: { end: { outcome = 'ok', status, whenUsageKnown } } }: Call
): boolean {
  return outcome === row.outcome && status === row.status && whenUsageKnown === undefined
}

/** Journals a row of an open call; resolves once it is written, or cannot be. */
function journal (call: Call, row: UsageRow, ledger: Ledger): Promise<void> | undefined {
  const journaled = journaledCall(call) ?? new JournaledCall(row)
  call.record.journaled = journaled
  journaled.row = row
  return journaled.written = ledger.journalOpenCall(journaled)
}

function journaledCall ({ record }: Call): JournaledCall | undefined {
  return record.journaled instanceof JournaledCall ? record.journaled : undefined
}
