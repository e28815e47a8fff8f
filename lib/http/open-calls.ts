/**
 * Lists the open calls in the order they came, and ends those whose deadline has passed: with one timer for all of them,
 * set to the earliest deadline. Nearly every call has ended long before, and the timer is not touched for it.
 *
 * A ring of entries and not a `Set`: a set whose members change allocates a new table every
 * few dozen calls, and each old table, dead but in old space, keeps the calls it had alive until
 * the next full collection: a third of all that was promoted, and up to a quarter of the CPU time
 * of a JSON call.
 */

import { GatewayError } from '../core/errors.ts'
import type { Call } from '../core/call.ts'

/** Milliseconds between two searches for calls past their deadline: each goes through all open calls. */
const minSweepMs = 10
/** The longest time that a timer of Node.js can have. */
const maxTimerMs = 2 ** 31 - 1

/** One open call, as the edge sees it. */
export class OpenCallEntry {
  readonly abort: (reason: GatewayError) => void
  /** The time at which the call has to end, by `performance.now()`. */
  readonly deadlineMs: number
  /** Absent in the ring itself. */
  readonly call: Call | undefined
  previous: OpenCallEntry = this
  next: OpenCallEntry = this

  /** @param deadlineMs by `performance.now()`; default: none */
  constructor (abort: (reason: GatewayError) => void, deadlineMs = Infinity, call?: Call) {
    this.abort = abort
    this.deadlineMs = deadlineMs
    this.call = call
  }
}

export class OpenCalls implements Iterable<OpenCallEntry> {
  readonly #ring = new OpenCallEntry(() => undefined)
  #size = 0
  #timer: NodeJS.Timeout | undefined
  /** The time of the next sweep, by `performance.now()`. */
  #sweepAtMs = Infinity

  get size (): number {
    return this.#size
  }

  add (entry: OpenCallEntry): void {
    this.#size++
    entry.previous = this.#ring.previous
    entry.next = this.#ring
    entry.previous.next = entry
    this.#ring.previous = entry
    if (entry.deadlineMs < this.#sweepAtMs) this.#sweepAt(entry.deadlineMs)
  }

  /** @param entry one that was added and not deleted */
  delete (entry: OpenCallEntry): void {
    this.#size--
    entry.previous.next = entry.next
    entry.next.previous = entry.previous
    // A deleted entry must not keep later ones alive.
    entry.previous = entry
    entry.next = entry
  }

  /** Iterates over the calls open now: additions and deletions meanwhile change nothing. */
  [Symbol.iterator] (): Iterator<OpenCallEntry> {
    const entries: OpenCallEntry[] = []
    for (let entry = this.#ring.next; entry !== this.#ring; entry = entry.next) entries.push(entry)
    return entries.values()
  }
  #sweepAt (atMs: number): void {
    clearTimeout(this.#timer)
    this.#sweepAtMs = atMs
    this.#timer = setTimeout(() => this.#sweep(), Math.min(Math.ceil(atMs - performance.now()), maxTimerMs)).unref()
  }

  /** Ends the calls whose deadline has passed. Deadlines need not be in order: a new configuration may have shorter ones. */
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
