/**
 * Lists the open calls in the order they came.
 *
 * A ring of links and not a `Set`: a set whose members change allocates a new table every
 * few dozen calls, and each old table, dead but in old space, keeps the calls it held alive until
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

  add (link: OpenCallEntry): void {
    this.#size++
    link.previous = this.#ring.previous
    link.next = this.#ring
    link.previous.next = link
    this.#ring.previous = link
  }

  /** @param link one that was added and not deleted */
  delete (link: OpenCallEntry): void {
    this.#size--
    link.previous.next = link.next
    link.next.previous = link.previous
    // A deleted link must not keep later ones alive.
    link.previous = link
    link.next = link
  }

  /** Iterates over the calls open now: additions and deletions meanwhile change nothing. */
  [Symbol.iterator] (): Iterator<OpenCallEntry> {
    const links: OpenCallEntry[] = []
    for (let link = this.#ring.next; link !== this.#ring; link = link.next) links.push(link)
    return links.values()
  }
}
