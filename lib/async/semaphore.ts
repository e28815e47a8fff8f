/**
 * A semaphore with a bounded, fair queue.
 *
 * Owners are served in rotation, each in order of arrival, so an owner with many requests only delays itself.
 * When the queue is full, the owner with the most entries loses its latest. A waiter is an object whose
 * `enter` is called when a slot is free, so that `acquire` costs no promise.
 */

import { Ring, RingMember } from './ring.ts'

export interface Waiter {
  /** Called once, now or later. It must not throw, and it owns the slot until `release`. */
  readonly enter: () => void
  /** Called instead when the queue has no room, now or later. */
  readonly refuse: () => void
}

export class Semaphore {
  readonly #maxWaiting: number
  /** Owners in the order in which they are served. */
  readonly #lines = new Map<string, Line>()
  readonly #whenIdle: Array<() => void> = []
  #waiting = 0
  #inside = 0
  #free: number
  #isServing = false

  /** @param count slots; `Infinity`: unlimited */
  constructor (count: number, maxWaiting = Infinity) {
    this.#free = count
    this.#maxWaiting = maxWaiting
  }

  get waiting (): number {
    return this.#waiting
  }

  /** @param owner of the waiter: the id of a key */
  acquire (waiter: Waiter, owner: string): void {
    if (this.#free > 0) {
      this.#admit(waiter)
      return
    }
    if (this.#waiting >= this.#maxWaiting && !this.#makeRoom(owner)) {
      waiter.refuse()
      return
    }
    this.#waiting++
    const line = this.#lines.get(owner) ?? new Line()
    line.add(waiter)
    this.#lines.set(owner, line)
  }

  /** Calls `done` once no slot is taken and nobody waits, now or later. */
  whenIdle (done: () => void): void {
    if (this.#inside === 0 && this.#waiting === 0) done()
    else this.#whenIdle.push(done)
  }

  /** Leaves the queue. Returns false if the waiter is not in it because it has been served. */
  cancel (waiter: Waiter, owner: string): boolean {
    const line = this.#lines.get(owner)
    if (line?.delete(waiter) !== true) return false
    if (line.size === 0) this.#lines.delete(owner)
    this.#waiting--
    return true
  }

  release (): void {
    this.#free++
    this.#inside--
    if (this.#isServing) return // called by a waiter that was just served and has already finished
    this.#isServing = true
    for (let waiter = this.#next(); waiter !== undefined; waiter = this.#next()) this.#admit(waiter)
    this.#isServing = false
    if (this.#inside === 0 && this.#whenIdle.length > 0) for (const done of this.#whenIdle.splice(0)) done()
  }

  #admit (waiter: Waiter): void {
    this.#free--
    this.#inside++
    waiter.enter()
  }

  #next (): Waiter | undefined {
    if (this.#free === 0) return undefined
    for (const [owner, line] of this.#lines) {
      const waiter = line.oldest
      this.#lines.delete(owner)
      if (waiter === undefined) continue
      line.delete(waiter)
      this.#waiting--
      if (line.size > 0) this.#lines.set(owner, line)
      return waiter
    }
    return undefined
  }

  /**
   * Refuses the latest waiter of the owner with the longest queue, unless the newcomer's would be as long.
   */
  #makeRoom (newcomer: string): boolean {
    let most: Line | undefined
    for (const line of this.#lines.values()) {
      if (line.size > (most?.size ?? 0)) most = line
    }
    if (most === undefined || most.size <= (this.#lines.get(newcomer)?.size ?? 0) + 1) return false
    const { newest } = most
    if (newest === undefined) return false
    most.delete(newest)
    this.#waiting--
    newest.refuse()
    return true
  }
}

/** The waiters of one owner in order of arrival. */
class Line {
  readonly #places = new Map<Waiter, Place>()
  readonly #ring = new Ring<Place>()

  get size (): number {
    return this.#ring.size
  }

  get oldest (): Waiter | undefined {
    return this.#ring.first?.waiter
  }

  get newest (): Waiter | undefined {
    return this.#ring.last?.waiter
  }

  add (waiter: Waiter): void {
    const place = new Place(waiter)
    this.#places.set(waiter, place)
    this.#ring.add(place)
  }

  /** Returns false if the waiter is not in the line. */
  delete (waiter: Waiter): boolean {
    const place = this.#places.get(waiter)
    if (place !== undefined) this.#ring.delete(place)
    return this.#places.delete(waiter)
  }
}

class Place extends RingMember {
  readonly waiter: Waiter

  constructor (waiter: Waiter) {
    super()
    this.waiter = waiter
  }
}
