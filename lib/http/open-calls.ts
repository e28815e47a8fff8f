/**
 * Lists the open calls in the order they came.
 *
 * A ring of entries and not a `Set`: a set whose members change allocates a new table every
 * few dozen calls, and each old table, dead but in old space, keeps the calls it had alive until
 * the next full collection: a third of all that was promoted, and up to a quarter of the CPU time
 * of a JSON call.
 */

import type { Call } from '../core/call.ts'
import type { GatewayError } from '../core/errors.ts'

/** One open call, as the edge sees it. */
export class OpenCallEntry {
  readonly abort: (reason: GatewayError) => void
  /** Absent in the ring itself. */
  readonly call: Call | undefined
  previous: OpenCallEntry = this
  next: OpenCallEntry = this

  constructor (abort: (reason: GatewayError) => void, call?: Call) {
    this.abort = abort
    this.call = call
  }
}

export class OpenCalls implements Iterable<OpenCallEntry> {
  readonly #ring = new OpenCallEntry(() => undefined)
  #size = 0

  get size (): number {
    return this.#size
  }

  add (entry: OpenCallEntry): void {
    this.#size++
    entry.previous = this.#ring.previous
    entry.next = this.#ring
    entry.previous.next = entry
    this.#ring.previous = entry
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
}
