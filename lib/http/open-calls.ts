/**
 * Keeps the open calls in order of arrival, and ends those past their deadline: with one timer for all of
 * them, set to the earliest deadline. Nearly every call ends long before, without touching the timer.
 */

import { Ring, type RingMember } from '../async/ring.ts'
import { GatewayError } from '../core/errors.ts'

/** Milliseconds between two sweeps: each visits all open calls. */
const minSweepMs = 10

/** One open call, as the edge sees it. */
export interface OpenCall extends RingMember {
  readonly abort: (reason: GatewayError) => void
  /** When the call has to end, by `performance.now()`. */
  deadlineMs: number
}

export class OpenCalls implements Iterable<OpenCall> {
  readonly #calls = new Ring<OpenCall>()
  #timer: NodeJS.Timeout | undefined
  /** When the next sweep runs, by `performance.now()`. */
  #sweepAtMs = Infinity
  readonly #waiting = new Set<{ readonly calls: Set<OpenCall>, readonly resolve: () => void }>()

  get size (): number {
    return this.#calls.size
  }

  add (call: OpenCall): void {
    this.#calls.add(call)
    if (call.deadlineMs < this.#sweepAtMs) this.#sweepAt(call.deadlineMs)
  }

  /** Moves the deadline of a call to an earlier time; a later one changes nothing. */
  setEarlierDeadline (call: OpenCall, deadlineMs: number): void {
    if (deadlineMs >= call.deadlineMs) return
    call.deadlineMs = deadlineMs
    // Callers set deadlines: without a minimum, thousands of calls could each force a sweep of all open
    // calls.
    const atMs = Math.max(deadlineMs, performance.now() + minSweepMs)
    if (atMs < this.#sweepAtMs) this.#sweepAt(atMs)
  }

  delete (call: OpenCall): void {
    this.#calls.delete(call)
    for (const waiter of this.#waiting) {
      waiter.calls.delete(call)
      if (waiter.calls.size > 0) continue
      this.#waiting.delete(waiter)
      waiter.resolve()
    }
  }

  /** Resolves when the calls that are open now have ended; later calls do not count. */
  async whenIdle (): Promise<void> {
    if (this.size === 0) return
    await new Promise<void>(resolve => { this.#waiting.add({ calls: new Set(this), resolve }) })
  }

  /** Iterates over the calls open now: later additions and deletions change nothing. */
  [Symbol.iterator] (): Iterator<OpenCall> {
    return this.#calls[Symbol.iterator]()
  }

  #sweepAt (atMs: number): void {
    clearTimeout(this.#timer)
    this.#sweepAtMs = atMs
    this.#timer = setTimeout(() => this.#sweep(), Math.ceil(atMs - performance.now())).unref()
  }

  /**
   * Ends the calls past their deadline. Deadlines need not be in order: a new configuration may have shorter
   * ones.
   */
  #sweep (): void {
    const nowMs = performance.now()
    let earliestMs = Infinity
    this.#sweepAtMs = Infinity
    for (const { abort, deadlineMs } of this) {
      if (deadlineMs <= nowMs) abort(new GatewayError('timeout'))
      else if (deadlineMs < earliestMs) earliestMs = deadlineMs
    }
    if (earliestMs < this.#sweepAtMs) this.#sweepAt(Math.max(earliestMs, nowMs + minSweepMs))
  }
}
