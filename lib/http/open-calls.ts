/**
 * The calls under way, in the order they came.
 *
 * A ring of links and not a `Set`: a set whose members come and go makes itself a new table every
 * few dozen calls, and each old table, dead but in old space, keeps the calls it held alive until
 * the next full collection: a third of all that was promoted, and up to a quarter of the CPU time
 * of a whole JSON call.
 */

import type { GatewayError } from '../core/errors.ts'

/** One call under way, as the edge sees it. */
export class Link {
  readonly abort: (reason: GatewayError) => void
  previous: Link = this
  next: Link = this

  constructor (abort: (reason: GatewayError) => void) {
    this.abort = abort
  }
}

export class OpenCalls implements Iterable<Link> {
  readonly #ring = new Link(() => undefined)
  #size = 0

  get size (): number {
    return this.#size
  }

  add (link: Link): void {
    this.#size++
    link.previous = this.#ring.previous
    link.next = this.#ring
    link.previous.next = link
    this.#ring.previous = link
  }

  /** @param link one of these */
  delete (link: Link): void {
    this.#size--
    link.previous.next = link.next
    link.next.previous = link.previous
    // What is dead must not hold on to what came after it.
    link.previous = link
    link.next = link
  }

  /** Those there are now: what is added or deleted on the way changes nothing. */
  [Symbol.iterator] (): Iterator<Link> {
    const links: Link[] = []
    for (let link = this.#ring.next; link !== this.#ring; link = link.next) links.push(link)
    return links.values()
  }
}
